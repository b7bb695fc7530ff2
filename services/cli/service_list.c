/* See service_list.h. */
#include "service_list.h"

#include <string.h>

#include "operator/service_state.h"

static int index_of(const struct mg_service_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

void mg_service_list_add(struct mg_service_list *list, const char *name)
{
    if (list->count < MG_SERVICES_MAX && index_of(list, name) < 0) {
        list->names[list->count++] = name;
    }
}

void mg_service_list_add_rows(struct mg_service_list *list, const struct mg_table *rows)
{
    for (int row = 0; row < rows->row_count; row++) {
        mg_service_list_add(list, mg_table_cell(rows, row, "service"));
    }
}

enum mg_exit_code mg_service_list_add_needs(struct mg_cli *cli, struct mg_service_list *list,
                                            struct mg_service_needs *ret, char ret_why[MG_CLI_WHY_SIZE])
{
    const struct mg_table *controlled = &ret->controlled;
    enum mg_exit_code code = mg_table_try_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &ret->controlled, ret_why);
    if (code == MG_EXIT_DONE) {
        code = mg_table_try_read(cli, MG_REPORT_KEPT_SERVICES, NULL, 0, &ret->kept, ret_why);
    }
    for (int row = 0; row < controlled->row_count && code == MG_EXIT_DONE; row++) {
        if (strcmp(mg_table_cell(controlled, row, "is_used"), "t") == 0) {
            mg_service_list_add(list, mg_table_cell(controlled, row, "service"));
        }
    }
    mg_service_list_add_rows(list, &ret->kept);
    return code;
}

void mg_service_needs_free(struct mg_service_needs *needs)
{
    mg_table_free(&needs->controlled);
    mg_table_free(&needs->kept);
}

enum mg_class mg_service_list_look(struct mg_cli *cli, struct mg_service_list *list, struct mg_err *err)
{
    enum mg_class class =
        mg_topology_ask_services(&cli->options.broker, list->names, list->count, list->queues, err);
    list->is_seen = class == MG_OK;
    return class;
}

const struct mg_service_queues *mg_service_list_find(void *arg, const char *name)
{
    const struct mg_service_list *list = arg;
    int index = index_of(list, name);
    return list->is_seen && index >= 0 ? &list->queues[index] : NULL;
}

void mg_service_queues_put(struct mg_cli *cli, struct mg_table *controlled)
{
    struct mg_service_list list = {.count = 0};
    struct mg_err err;
    mg_service_list_add_rows(&list, controlled);
    if (mg_service_list_look(cli, &list, &err) == MG_OK) {
        (void)mg_service_states_put(controlled, mg_service_list_find, &list);
    } else {
        mg_cli_note("the queues were not looked at: %s", err.text);
    }
}
