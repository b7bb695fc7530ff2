/* The overview, and the search in its head, which every page has. */
#include <stdio.h>
#include <string.h>

#include "console/page_parts.h"

#define OLDEST_LIMIT     10
#define TOP_GROUPS_LIMIT 5
#define TOP_BULK_LIMIT   20 /* more than the number of bulk actions that may be open */

/* ---- search ---- */

static unsigned int render_find(const struct mg_query *query, const struct mg_table *tables,
                                struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "found", &tables[0], NULL);
    mg_json_member_bool(&json, "is_cut", tables[0].row_count >= MG_PAGE_ROWS);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_find(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                   char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *text;
    (void)id;
    if (!mg_page_param_read(request, "text", &text, ret_refusal)) {
        return false;
    }
    if (text[0] == '\0') {
        (void)snprintf(ret_refusal, MG_REFUSAL_SIZE,
                       "text: expected the beginning of an id, or a label's value");
        return false;
    }
    const char *const params[] = {text, MG_PAGE_TEXT_OF(MG_PAGE_ROWS), NULL};
    mg_page_begin(query, "find", render_find);
    mg_page_add(query, MG_REPORT_FIND, params);
    return true;
}

/* ---- overview ---- */

enum {
    OVERVIEW_FIGURES,
    OVERVIEW_OLDEST,
    OVERVIEW_GROUPS,
    OVERVIEW_CONTROLLED,
    OVERVIEW_LEADER,
    OVERVIEW_SETTINGS,
    OVERVIEW_BULK,
    OVERVIEW_RUNNER,
};

static unsigned int render_overview(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "figures", &tables[OVERVIEW_FIGURES], NULL);
    mg_page_array_write(&json, "groups", &tables[OVERVIEW_GROUPS], NULL);
    mg_page_array_write(&json, "services", &tables[OVERVIEW_CONTROLLED], NULL);
    mg_page_array_write(&json, "leader", &tables[OVERVIEW_LEADER], NULL);
    mg_page_array_write(&json, "bulk", &tables[OVERVIEW_BULK], NULL);
    mg_page_array_write(&json, "runner", &tables[OVERVIEW_RUNNER], NULL);
    mg_json_member_object(&json, "oldest");
    mg_page_orders_write(&json, &tables[OVERVIEW_OLDEST]);
    mg_json_object_end(&json);
    mg_page_raw_write(&json, "now_ms", &tables[OVERVIEW_SETTINGS], "now_ms");
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

void mg_query_overview(struct mg_query *query)
{
    static const char *const oldest[] = {"", "", "", "", "", MG_PAGE_TEXT_OF(OLDEST_LIMIT), NULL};
    static const char *const groups[] = {"", "", "", "", "", "", MG_PAGE_TEXT_OF(TOP_GROUPS_LIMIT), "", NULL};
    static const char *const top[] = {MG_PAGE_TEXT_OF(TOP_BULK_LIMIT), NULL};
    mg_page_begin(query, "overview", render_overview);
    mg_page_add(query, MG_REPORT_FIGURES, NULL);
    mg_page_add(query, MG_REPORT_PAGE_OPEN, oldest);
    mg_page_add(query, MG_REPORT_FAILURE_GROUPS, groups);
    mg_page_add(query, MG_REPORT_CONTROLLED, NULL);
    mg_page_add(query, MG_REPORT_LEADER, NULL);
    mg_page_add(query, MG_REPORT_SETTINGS, NULL);
    mg_page_add(query, MG_REPORT_BULK_LIST, top);
    mg_page_add(query, MG_REPORT_BULK_RUNNER, NULL);
}
