/* See service_state.h. */
#include "operator/service_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *service_state(const struct table *controlled, int row, const struct mg_service_queues *queues)
{
    const char *state = table_cell(controlled, row, "state");
    bool is_used = strcmp(table_cell(controlled, row, "is_used"), "t") == 0;
    if (queues == NULL || strcmp(state, SERVICE_PAUSED) == 0) {
        return state;
    }
    if (is_used && queues->consumers < 0) {
        return SERVICE_NO_QUEUE;
    }
    return strcmp(state, SERVICE_NO_AGENT) == 0 ? service_state_of_queues(queues) : state;
}

const char *service_state_of_queues(const struct mg_service_queues *queues)
{
    if (queues != NULL && queues->consumers < 0) {
        return SERVICE_NO_QUEUE;
    }
    return queues != NULL && queues->consumers > 0 ? SERVICE_SERVING : SERVICE_NO_AGENT;
}

bool service_state_is_well(const char *state)
{
    static const char *const well[] = {SERVICE_SERVING, SERVICE_PAUSED, SERVICE_NOT_USED, NULL};
    return text_is_listed(well, state);
}

void service_remedy(const char *service, const char *state, char ret_remedy[SERVICE_REMEDY_SIZE])
{
    ret_remedy[0] = '\0';
    if (strcmp(state, SERVICE_NO_QUEUE) == 0) {
        (void)snprintf(ret_remedy, SERVICE_REMEDY_SIZE, "makegood broker apply --service %s", service);
    } else if (strcmp(state, SERVICE_NO_AGENT) == 0) {
        (void)snprintf(ret_remedy, SERVICE_REMEDY_SIZE, "makegood-agent --service FILE");
    } else if (strcmp(state, SERVICE_PAUSED) == 0) {
        (void)snprintf(ret_remedy, SERVICE_REMEDY_SIZE, "makegood service resume %s --reason TEXT", service);
    }
}

bool service_states_put(struct table *controlled, service_queues_fn *find, void *arg)
{
    for (int row = 0; row < controlled->row_count; row++) {
        const struct mg_service_queues *queues = find(arg, table_cell(controlled, row, "service"));
        if (!table_put(controlled, row, "state", service_state(controlled, row, queues))) {
            return false;
        }
    }
    return true;
}
