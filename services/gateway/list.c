/* The client's orders, newest first, by state and labels. They wait in a line (lists.c). */
#include <assert.h>
#include <string.h>

#include "base/json_write.h"
#include "core/model.h"
#include "gateway/call.h"
#include "json/json.h"
#include "operator/option_words.h"
#include "operator/table.h"

#define ROWS       "50" /* of a page; further ones follow its cursor */
#define CURSOR_MAX (20 + 1 + MG_ORDER_ID_MAX)
#define PAGE_MAX   (1024u * 1024)

static bool is_state(const char *text)
{
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        if (strcmp(mg_order_state_name((enum mg_order_state)state), text) == 0) {
            return true;
        }
    }
    return text[0] == '\0';
}

/* A cursor is MICROSECONDS/ORDER. */
static bool is_cursor(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *order_id = text + digits + 1;
    return text[0] == '\0' || (digits > 0 && digits < 19 && text[digits] == '/' &&
                               mg_order_id_is_valid(order_id, strlen(order_id)));
}

static void page_write(const struct mg_table *page, struct mg_buf *ret_json)
{
    const char *next = mg_table_cell(page, 0, "next");
    struct mg_json_writer writer = mg_json_spaced(ret_json);
    mg_json_object_begin(&writer);
    mg_json_name(&writer, "orders");
    mg_table_write_orders(&writer, page);
    mg_json_member_string_or_null(&writer, "next", next);
    mg_json_object_end(&writer);
    mg_buf_append_text(ret_json, "\n");
}

static void on_page(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_call *call = arg;
    struct mg_table page = {0};
    struct mg_buf json;
    mg_lists_end(call, err);
    if (err != NULL) {
        mg_call_refuse(call, 503, "could not list the orders: %s", err->text);
        return;
    }
    mg_buf_init(&json, PAGE_MAX);
    bool is_kept = mg_table_keep(&page, rows, false);
    if (is_kept) {
        page_write(&page, &json);
    }
    if (!is_kept || json.failed) {
        mg_call_refuse(call, 503, "no memory for the answer");
    } else {
        mg_call_answer(call, 200, mg_buf_slice(&json));
    }
    mg_buf_finish(&json);
    mg_table_free(&page);
}

static const char *param_of(const struct mg_call *call, const char *name)
{
    const char *text = mg_http_exchange_query(call->request, name);
    return text != NULL ? text : "";
}

/* The labels of the query as JSON; "": none. False: the call has been refused. */
static bool labels_read(struct mg_call *call, char ret_labels[MG_LABELS_TEXT_SIZE])
{
    struct mg_label_words words = {.count = 0};
    char refusal[MG_LABELS_REFUSAL_SIZE];
    ret_labels[0] = '\0';
    if (!mg_label_words_add_all(&words, param_of(call, "label"), refusal) ||
        (words.count > 0 && !mg_label_words_write(&words, ret_labels, MG_LABELS_TEXT_SIZE, refusal))) {
        mg_call_refuse(call, 400, "label: %s", refusal);
        return false;
    }
    return true;
}

static void page_ask(struct mg_call *call)
{
    char labels[MG_LABELS_TEXT_SIZE];
    (void)labels_read(call, labels); /* it was valid before it waited */
    const char *client = mg_client_name(call->client);
    assert(client[0] != '\0'); /* else the page would be of all clients */
    const char *const params[MG_ORDERS_PARAMS] = {
        [MG_ORDERS_STATE] = param_of(call, "state"),
        [MG_ORDERS_WORKFLOW] = "",
        [MG_ORDERS_SINCE] = "",
        [MG_ORDERS_UNTIL] = "",
        [MG_ORDERS_CURSOR] = param_of(call, "cursor"),
        [MG_ORDERS_LIMIT] = ROWS,
        [MG_ORDERS_LABELS] = labels,
        [MG_ORDERS_CLIENT] = client,
    };
    mg_store_report(call->gateway->listing_store, MG_REPORT_CLIENT_ORDERS, params, MG_ORDERS_PARAMS, on_page,
                    call);
}

void mg_list_run(struct mg_call *call)
{
    char labels[MG_LABELS_TEXT_SIZE];
    if (!is_state(param_of(call, "state"))) {
        mg_call_refuse(call, 400, "state: expected a state of orders, such as processing");
    } else if (!is_cursor(param_of(call, "cursor"))) {
        mg_call_refuse(call, 400, "cursor: expected \"next\" of the page before");
    } else if (labels_read(call, labels)) {
        mg_lists_begin(call, page_ask);
    }
}
