/* An agent of the service "greeting". Usage: example_agent AMQP-URL */
#include <makegood.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char greetings[1000][256]; /* keys; a real service keeps them in its database */

static char *place_of(const char *key)
{
    for (size_t i = 0; i < sizeof(greetings) / sizeof(greetings[0]); i++) {
        if (strcmp(greetings[i], key) == 0) {
            return greetings[i];
        }
    }
    return NULL;
}

/* Replaces a key by another one. False: it is not there. */
static int replace(const char *key, const char *by)
{
    pthread_mutex_lock(&lock);
    char *place = place_of(key);
    if (place != NULL) {
        snprintf(place, sizeof(greetings[0]), "%s", by);
    }
    pthread_mutex_unlock(&lock);
    return place != NULL;
}

static void greet(struct mg_work *work, void *arg)
{
    const char *key = work->idempotency_key, *name = mg_work_find(work, "/name"); /* with its quotes */
    char result[512];
    int len = snprintf(result, sizeof(result), "{\"greeting\": \"Hello\", \"to\": %s}",
                       name != NULL ? name : "null");
    (void)arg;
    if (len >= (int)sizeof(result) || !(replace(key, key) || replace("", key))) {
        mg_work_permanent(work, "no_room", "the name is too long, or too many were greeted", NULL);
    } else {
        mg_work_done(work, result, NULL);
    }
}

static void forget(struct mg_work *work, void *arg)
{
    (void)arg;
    replace(work->do_key, "") ? (void)mg_work_done(work, NULL, NULL) : mg_work_absent(work);
}

static void look(struct mg_work *work, void *arg)
{
    (void)arg;
    replace(work->do_key, work->do_key) ? (void)mg_work_done(work, NULL, NULL) : mg_work_absent(work);
}

int main(int argc, char **argv)
{
    struct mg_agent_options options = {.url = argc > 1 ? argv[1] : NULL, .takes_signals = true};
    struct mg_error error = {0};
    struct mg_agent *agent = NULL;
    if (!mg_agent_open(&options, &agent, &error) &&
        !mg_agent_serve(agent, "greeting", greet, forget, look, NULL, &error)) {
        mg_agent_run(agent, &error);
    }
    mg_agent_close(agent);
    return error.code ? (fprintf(stderr, "%s\n", error.text), 1) : 0;
}
