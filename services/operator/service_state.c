/* See service_state.h. */
#include "operator/service_state.h"

#include <stdio.h>
#include <string.h>

const char *mg_service_state_find(const struct mg_table *controlled, int row,
                                  const struct mg_service_queues *queues)
{
    const char *state = mg_table_cell(controlled, row, "state");
    bool is_used = strcmp(mg_table_cell(controlled, row, "is_used"), "t") == 0;
    if (queues == NULL || strcmp(state, MG_SERVICE_PAUSED) == 0) {
        return state;
    }
    if (is_used && queues->consumers < 0) {
        return MG_SERVICE_NO_QUEUE;
    }
    if (strcmp(state, MG_SERVICE_SERVING) == 0 && queues->consumers == 0 &&
        strcmp(mg_table_cell(controlled, row, "in_flight"), "0") == 0) {
        return MG_SERVICE_DEAF;
    }
    return strcmp(state, MG_SERVICE_NO_AGENT) == 0 ? mg_service_state_of_queues(queues) : state;
}

const char *mg_service_state_of_queues(const struct mg_service_queues *queues)
{
    if (queues != NULL && queues->consumers < 0) {
        return MG_SERVICE_NO_QUEUE;
    }
    return queues != NULL && queues->consumers > 0 ? MG_SERVICE_SERVING : MG_SERVICE_NO_AGENT;
}

bool mg_service_state_is_well(const char *state)
{
    static const char *const well[] = {MG_SERVICE_SERVING, MG_SERVICE_PAUSED, MG_SERVICE_NOT_USED, NULL};
    return mg_text_is_listed(well, state);
}

void mg_service_remedy(const char *service, const char *state, char ret_remedy[MG_SERVICE_REMEDY_SIZE])
{
    ret_remedy[0] = '\0';
    if (strcmp(state, MG_SERVICE_NO_QUEUE) == 0) {
        (void)snprintf(ret_remedy, MG_SERVICE_REMEDY_SIZE, "makegood broker apply --service %s", service);
    } else if (strcmp(state, MG_SERVICE_NO_AGENT) == 0) {
        (void)snprintf(ret_remedy, MG_SERVICE_REMEDY_SIZE, "makegood-agent --service FILE");
    } else if (strcmp(state, MG_SERVICE_PAUSED) == 0) {
        (void)snprintf(ret_remedy, MG_SERVICE_REMEDY_SIZE, "makegood service resume %s --reason TEXT",
                       service);
    }
}

bool mg_service_slow_write(const struct mg_table *controlled, int row, char ret_text[MG_SERVICE_SLOW_SIZE])
{
    const char *since = mg_table_cell(controlled, row, "slow_since");
    (void)snprintf(ret_text, MG_SERVICE_SLOW_SIZE,
                   "%s is slow since %s: 95 of 100 calls take up to %s ms, usually %s ms",
                   mg_table_cell(controlled, row, "service"), since, mg_table_cell(controlled, row, "p95_ms"),
                   mg_table_cell(controlled, row, "usual_ms"));
    return since[0] != '\0';
}

bool mg_service_states_put(struct mg_table *controlled, service_queues_fn *find, void *arg)
{
    for (int row = 0; row < controlled->row_count; row++) {
        const struct mg_service_queues *queues = find(arg, mg_table_cell(controlled, row, "service"));
        if (!mg_table_put(controlled, row, "state", mg_service_state_find(controlled, row, queues))) {
            return false;
        }
    }
    return true;
}
