/* See service_list.h. */
#include "service_list.h"

#include <string.h>

static int index_of(const struct service_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

void service_list_add(struct service_list *list, const char *name)
{
    if (list->count < SERVICES_MAX && index_of(list, name) < 0) {
        list->names[list->count++] = name;
    }
}

void service_list_add_rows(struct service_list *list, const struct table *rows)
{
    for (int row = 0; row < rows->row_count; row++) {
        service_list_add(list, table_cell(rows, row, "service"));
    }
}

enum exit_code service_list_add_needs(struct cli *cli, struct service_list *list, struct service_needs *ret)
{
    const struct table *controlled = &ret->controlled;
    enum exit_code code = table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &ret->controlled);
    if (code == EXIT_DONE) {
        code = table_read(cli, MG_REPORT_KEPT_SERVICES, NULL, 0, &ret->kept);
    }
    for (int row = 0; row < controlled->row_count && code == EXIT_DONE; row++) {
        if (strcmp(table_cell(controlled, row, "is_used"), "t") == 0) {
            service_list_add(list, table_cell(controlled, row, "service"));
        }
    }
    service_list_add_rows(list, &ret->kept);
    return code;
}

void service_needs_free(struct service_needs *needs)
{
    table_free(&needs->controlled);
    table_free(&needs->kept);
}

enum mg_class service_list_look(struct cli *cli, struct service_list *list, struct mg_err *err)
{
    enum mg_class class =
        mg_topology_ask_services(&cli->options.broker, list->names, list->count, list->queues, err);
    list->is_seen = class == MG_OK;
    return class;
}

const struct mg_service_queues *service_list_find(void *arg, const char *name)
{
    const struct service_list *list = arg;
    int index = index_of(list, name);
    return list->is_seen && index >= 0 ? &list->queues[index] : NULL;
}
