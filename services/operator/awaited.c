/* See awaited.h. */
#include "operator/awaited.h"

#include <stdio.h>
#include <string.h>

#include "core/key.h"
#include "json/scan.h"
#include "operator/document.h"

#define POSITION_DIGITS 2 /* of 64 steps */

static struct mg_slice signals_of(const struct mg_table *steps, int row)
{
    struct mg_slice open = mg_slice_of(mg_table_cell(steps, row, "open"));
    struct mg_err ignored; /* unreadable: its signals are not named */
    bool is_read = open.len > 0 && mg_document_check(open, &ignored) == MG_OK;
    return is_read ? mg_json_find(open, "/signals") : (struct mg_slice){NULL, 0};
}

/* Their senders, and with `has_times` the moments. */
static void senders_write(struct mg_buf *out, struct mg_slice signals, bool has_times)
{
    struct mg_slice none, signal;
    const char *before = ", by ";
    for (struct mg_json_walk walk = mg_json_walk_of(signals); mg_json_walk_next(&walk, &none, &signal);) {
        mg_buf_append_text(out, before);
        (void)mg_json_string(mg_json_find(signal, "/by"), out);
        if (has_times) {
            mg_buf_append_text(out, " at ");
            (void)mg_json_string(mg_json_find(signal, "/at"), out);
        }
        before = ", ";
    }
}

void mg_awaited_write(struct mg_buf *out, const struct mg_workflow *workflow, int step,
                      const struct mg_table *steps, int row)
{
    const struct mg_signal_wait *signal = workflow->steps[step].signal;
    struct mg_slice signals = signals_of(steps, row);
    int count = mg_json_count(signals);
    mg_buf_printf(out, "waits for signal %s until %s", signal->name, mg_table_cell(steps, row, "due_at"));
    if (signal->of > 1 || count > 0) {
        mg_buf_printf(out, " (%d of %d", count, signal->of);
        senders_write(out, signals, false);
        mg_buf_append_text(out, ")");
    }
    mg_buf_append_text(out, workflow->plan.steps[step].is_skipped_when_over ? "; then it is skipped"
                                                                            : "; then it fails");
}

void mg_awaited_early_write(struct mg_buf *out, const struct mg_workflow *workflow, int step,
                            const struct mg_table *steps, int row)
{
    struct mg_slice signals = signals_of(steps, row);
    if (mg_json_count(signals) > 0) {
        mg_buf_printf(out, "signal %s came early", workflow->steps[step].signal->name);
        senders_write(out, signals, true);
    }
}

static void sender_write(struct mg_buf *out, const struct mg_sender *sender)
{
    switch (sender->kind) {
    case MG_SENDER_OPERATOR:
        mg_buf_append_text(out, "operators");
        break;
    case MG_SENDER_OWN:
        mg_buf_append_text(out, "the order's client");
        break;
    case MG_SENDER_CLIENT:
        mg_buf_printf(out, "client %s", sender->client);
        break;
    }
}

void mg_awaited_senders_write(struct mg_buf *out, const struct mg_signal_wait *signal)
{
    static const struct mg_sender DEFAULT[] = {{.kind = MG_SENDER_OPERATOR}, {.kind = MG_SENDER_OWN}};
    const struct mg_sender *senders = signal->sender_count > 0 ? signal->senders : DEFAULT;
    int count = signal->sender_count > 0 ? signal->sender_count : (int)(sizeof(DEFAULT) / sizeof(DEFAULT[0]));
    for (int i = 0; i < count; i++) {
        mg_buf_append_text(out, i > 0 ? ", " : "");
        sender_write(out, &senders[i]);
    }
}

bool mg_awaiting_cursor_is_valid(const char *text)
{
    char order[MG_ORDER_ID_MAX + 1];
    size_t since = strspn(text, "0123456789-T:.Z"), len = 0;
    if (since == 0 || text[since] != '/') {
        return false;
    }
    const char *id = text + since + 1;
    len = strcspn(id, "/");
    const char *position = id[len] == '/' ? id + len + 1 : "";
    (void)snprintf(order, sizeof(order), "%.*s", (int)len, id);
    return len <= MG_ORDER_ID_MAX && mg_order_id_is_valid(order, len) && position[0] != '\0' &&
           strspn(position, "0123456789") == strlen(position) && strlen(position) <= POSITION_DIGITS;
}
