/*
 * An agent of the service "parcels" by libmakegood, for test_secure_libraries.py. Its log lines go to
 * standard output. Usage: library_agent URL CA-FILE [CERT-FILE KEY-FILE]
 */
#include <makegood.h>
#include <stdio.h>

static void deliver(struct mg_work *work, void *arg)
{
    (void)arg;
    (void)mg_work_done(work, "{\"parcel\": \"book\"}", NULL);
}

static void line_print(void *arg, enum mg_severity severity, const char *line)
{
    (void)fprintf(arg, "%d %s\n", (int)severity, line);
    (void)fflush(arg);
}

int main(int argc, char **argv)
{
    const struct mg_agent_options options = {.url = argc > 1 ? argv[1] : NULL,
                                             .ca_file = argc > 2 ? argv[2] : NULL,
                                             .cert_file = argc > 4 ? argv[3] : NULL,
                                             .key_file = argc > 4 ? argv[4] : NULL,
                                             .takes_signals = true};
    struct mg_agent *agent = NULL;
    struct mg_error error = {0};
    mg_log_redirect(line_print, stdout, MG_SEVERITY_WARNING);
    if (!mg_agent_open(&options, &agent, &error) &&
        !mg_agent_serve(agent, "parcels", deliver, deliver, deliver, NULL, &error)) {
        (void)mg_agent_run(agent, &error);
    }
    mg_agent_close(agent);
    return error.code ? (fprintf(stderr, "%s\n", error.text), 1) : 0;
}
