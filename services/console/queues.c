/*
 * Watches the request queues of services: whether they exist, and whether they have a consumer. A service is
 * watched after a page has first shown it. Two passive declares for each service in 5 s cost the broker
 * almost nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "console/console_parts.h"
#include "operator/service_state.h"

#define SERVICES_MAX 100 /* two queues each; a broker client watches 256 */
#define PERIOD_MS    5000
/* An observation is valid this long. After three periods without an answer the queue's state is unknown. */
#define SEEN_MS (3 * (int64_t)PERIOD_MS)

struct mg_watched {
    char service[MG_NAME_MAX + 1];
    char names[2][MG_QUEUE_NAME_SIZE];
    int64_t ready[2], consumers[2], seen_at_ms[2]; /* by the clock since boot; 0: not yet */
    struct mg_service_queues both;
};

struct mg_queues {
    struct mg_console *console;
    struct mg_watched watched[SERVICES_MAX];
    int count;
};

struct mg_queues *mg_queues_create(struct mg_console *console)
{
    struct mg_queues *queues = calloc(1, sizeof(*queues));
    if (queues != NULL) {
        queues->console = console;
    }
    return queues;
}

void mg_queues_destroy(struct mg_queues *queues)
{
    free(queues);
}

static void on_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct mg_watched *watched = arg;
    int which = strcmp(queue, watched->names[1]) == 0 ? 1 : 0;
    watched->ready[which] = ready_messages;
    watched->consumers[which] = consumers;
    watched->seen_at_ms[which] = mg_clock_boot_ms();
}

static struct mg_watched *watched_find(struct mg_queues *queues, const char *service)
{
    for (int i = 0; i < queues->count; i++) {
        if (strcmp(queues->watched[i].service, service) == 0) {
            return &queues->watched[i];
        }
    }
    return NULL;
}

static void watch(struct mg_queues *queues, const char *service)
{
    struct mg_broker *broker = mg_commander_broker(queues->console->commander);
    struct mg_err err;
    if (queues->count == SERVICES_MAX || watched_find(queues, service) != NULL) {
        return;
    }
    struct mg_watched *watched = &queues->watched[queues->count++];
    (void)snprintf(watched->service, sizeof(watched->service), "%s", service);
    for (int high = 0; high < 2; high++) {
        mg_topology_request_queue(service, high == 1, watched->names[high]);
        /* a failure leaves the queues unknown: the page shows the agents' reports */
        (void)!mg_broker_watch_queue(broker, watched->names[high], PERIOD_MS, on_seen, watched, &err);
    }
}

static const struct mg_service_queues *queues_find(void *arg, const char *service)
{
    struct mg_watched *watched = watched_find(arg, service);
    int64_t since_ms = mg_clock_boot_ms() - SEEN_MS;
    for (int i = 0; watched != NULL && i < 2; i++) {
        if (watched->seen_at_ms[i] == 0 || watched->seen_at_ms[i] < since_ms) {
            return NULL;
        }
    }
    if (watched != NULL) {
        int fewer = watched->consumers[1] < watched->consumers[0] ? 1 : 0;
        watched->both = (struct mg_service_queues){.ready = watched->ready[0] + watched->ready[1],
                                                   .consumers = watched->consumers[fewer]};
    }
    return watched != NULL ? &watched->both : NULL;
}

bool mg_queues_put(struct mg_queues *queues, struct mg_table *controlled)
{
    for (int row = 0; row < controlled->row_count; row++) {
        watch(queues, mg_table_cell(controlled, row, "service"));
    }
    return mg_service_states_put(controlled, queues_find, queues);
}
