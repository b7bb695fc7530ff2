/* See workflow_services.h. */
#include "workflow_services.h"

#include <stdio.h>
#include <string.h>

#include "json/reader.h"

static bool has_no_queue(struct mg_workflow_services *services, const char *name)
{
    const struct mg_service_queues *queues = mg_service_list_find(&services->list, name);
    return queues != NULL && queues->consumers < 0;
}

static void look(struct mg_cli *cli, struct mg_workflow_services *services)
{
    struct mg_err err;
    services->why[0] = '\0';
    if (mg_service_list_look(cli, &services->list, &err) != MG_OK) {
        (void)snprintf(services->why, sizeof(services->why), "%s", err.text);
    }
}

static bool is_any_missing(const struct mg_workflow_services *services)
{
    for (int i = 0; i < services->list.count && services->list.is_seen; i++) {
        if (services->list.queues[i].consumers < 0) {
            return true;
        }
    }
    return false;
}

void mg_workflow_services_find(struct mg_cli *cli, struct mg_workflow *const *workflows, int count,
                               struct mg_workflow_services *ret)
{
    char why[MG_CLI_WHY_SIZE];
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < count; i++) {
        for (int step = 0; workflows[i] != NULL && step < workflows[i]->plan.step_count; step++) {
            if (!workflows[i]->plan.steps[step].is_wait) {
                mg_service_list_add(&ret->list, workflows[i]->steps[step].service);
            }
        }
    }
    if (ret->list.count > 0) {
        look(cli, ret);
    }
    if (is_any_missing(ret) && (cli->store != NULL || mg_cli_try_store(cli, false, why) == MG_EXIT_DONE) &&
        mg_table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &ret->controlled) == MG_EXIT_DONE) {
        mg_service_list_add_rows(&ret->list, &ret->controlled);
        look(cli, ret);
    }
}

void mg_workflow_services_free(struct mg_workflow_services *services)
{
    mg_table_free(&services->controlled);
}

static bool is_named_before(const struct mg_workflow *workflow, int step)
{
    for (int i = 0; i < step; i++) {
        if (strcmp(workflow->steps[i].service, workflow->steps[step].service) == 0) {
            return true;
        }
    }
    return false;
}

int mg_workflow_services_next(struct mg_workflow_services *services, const struct mg_workflow *workflow,
                              int step)
{
    for (int i = step + 1; i < workflow->plan.step_count; i++) {
        if (!workflow->plan.steps[i].is_wait && has_no_queue(services, workflow->steps[i].service) &&
            !is_named_before(workflow, i)) {
            return i;
        }
    }
    return -1;
}

void mg_workflow_services_doubt(struct mg_workflow_services *services, const char *name,
                                char ret_text[MG_DOUBT_SIZE])
{
    const char *served[MG_SERVICES_MAX + 1];
    int count = 0;
    for (int i = 0; i < services->list.count; i++) {
        if (!has_no_queue(services, services->list.names[i])) {
            served[count++] = services->list.names[i];
        }
    }
    served[count] = NULL;
    const char *nearest = mg_json_nearest(served, mg_slice_of(name));
    (void)snprintf(ret_text, MG_DOUBT_SIZE,
                   "service \"%s\" has no queue; %s%s%srun: makegood broker apply --service %s", name,
                   nearest != NULL ? "did you mean \"" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "\"? If not, " : "", name);
}
