/*
 * `probe`: whether a process is ready, for health checks of containers and for people. It makes one HTTP
 * call. Without a URL it calls the service with the same environment or configuration file.
 */
#include <string.h>

#include "base/print.h"
#include "io/http/client.h"
#include "verb_table.h"

#define URL_SIZE         256
#define ANSWER_MAX_BYTES (16 * 1024) /* /readyz answers one line, with every part that is not ready */
#define HEADER_MAX_BYTES (16 * 1024)

struct probe {
    const char *url;
    enum mg_exit_code code;
    bool is_over;
    int status;
    char text[ANSWER_MAX_BYTES + 1];
};

/* Makes the URL from --http, the listen address of a service; a wildcard address becomes this machine. */
static enum mg_exit_code url_make(const struct mg_cli_options *options, char ret_url[URL_SIZE])
{
    const char *address = options->http;
    const char *port = strrchr(address, ':');
    bool is_tls = options->http_cert_file[0] != '\0';
    if (port == NULL || port[1] == '\0' || strcmp(port, ":0") == 0) {
        return mg_cli_fail(MG_EXIT_USAGE,
                           "give a URL, or the service's --http (MAKEGOOD_HTTP) with its port");
    }
    int host_len = (int)(port - address);
    const char *host = address;
    if (strncmp(address, "0.0.0.0:", 8) == 0) {
        host = "127.0.0.1";
    } else if (strncmp(address, "[::]:", 5) == 0) {
        host = "[::1]";
    }
    if (host != address) {
        host_len = (int)strlen(host);
    }
    (void)snprintf(ret_url, URL_SIZE, "%s://%.*s%s/readyz", is_tls ? "https" : "http", host_len, host, port);
    return MG_EXIT_DONE;
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct probe *probe = arg;
    struct mg_slice body = answer->sent == MG_SENT_YES ? answer->body : mg_slice_of(answer->reason);
    size_t len = body.len < ANSWER_MAX_BYTES ? body.len : ANSWER_MAX_BYTES;
    memcpy(probe->text, body.data, len);
    while (len > 0 && probe->text[len - 1] == '\n') {
        len--;
    }
    probe->text[len] = '\0';
    probe->status = answer->sent == MG_SENT_YES ? answer->status : 0;
    if (probe->status == 200) {
        probe->code = MG_EXIT_DONE;
    } else {
        probe->code = answer->is_timed_out ? MG_EXIT_TIMED_OUT : MG_EXIT_UNAVAILABLE;
    }
    probe->is_over = true;
}

static enum mg_exit_code probe_print(struct mg_cli *cli, const struct probe *probe)
{
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "url", probe->url);
        mg_json_member_int(json, "status", probe->status);
        mg_json_member_string(json, "text", probe->text);
        enum mg_exit_code code = mg_answer_print(&answer);
        return code != MG_EXIT_DONE ? code : probe->code;
    }
    if (probe->code == MG_EXIT_DONE) {
        mg_print(stdout, "%s\n", probe->text);
        return MG_EXIT_DONE;
    }
    if (probe->status == 0) {
        return mg_cli_fail(probe->code, "no answer from %s: %s", probe->url, probe->text);
    }
    return mg_cli_fail(probe->code, "%s answered %d: %s", probe->url, probe->status, probe->text);
}

static enum mg_exit_code verb_probe(struct mg_cli *cli)
{
    char url[URL_SIZE];
    const struct mg_http_client_options limits = {.max_connections = 1,
                                                  .connect_timeout_ms = cli->options.timeout_ms,
                                                  .max_body_bytes = ANSWER_MAX_BYTES,
                                                  .max_header_bytes = HEADER_MAX_BYTES};
    const char *ca_file = cli->options.http_ca_file;
    struct probe probe = {.url = cli->words.count > 0 ? cli->words.items[0] : url};
    struct mg_http_request request = {.method = "GET",
                                      .url = probe.url,
                                      .timeout_ms = cli->options.timeout_ms,
                                      .ca_file = ca_file[0] != '\0' ? ca_file : NULL};
    struct mg_http_client *client = NULL;
    struct mg_http_call *call = NULL;
    struct mg_err err;
    if (cli->words.count == 0) {
        enum mg_exit_code code = url_make(&cli->options, url);
        if (code != MG_EXIT_DONE) {
            return code;
        }
    }
    enum mg_class class = mg_http_client_create(cli->loop, &limits, &client, &err);
    if (class == MG_OK) {
        class = mg_http_client_call(client, &request, on_answer, &probe, &call, &err);
    }
    if (class == MG_OK) {
        /* The call has a time-out of its own. */
        (void)mg_cli_wait(cli, &probe.is_over, INT64_MAX);
    }
    mg_http_client_destroy(client);
    return class == MG_OK ? probe_print(cli, &probe) : mg_cli_fail_err(&err);
}

const struct mg_verb MG_PROBE_VERBS[] = {
    {"probe", NULL, "[URL]", 0, 1, MG_EXTRA_HTTP | MG_EXTRA_APART, MG_PRINTS_ONE, verb_probe,
     "checks whether a Makegood process is ready, by its URL or by MAKEGOOD_HTTP", 0},
    {0}};
