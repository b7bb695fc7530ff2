/* Prints the transition tables; the only reader of cells outside decisions. */
#include "core/describe.h"

#include "core/transition.h"

static const char *verdict_name(enum mg_verdict verdict)
{
    static const char *const names[] = {"go", "duplicate", "stale", "refused", "impossible"};
    return names[verdict];
}

static void edge_put(mg_describe_fn *put, void *arg, const char *from, const char *to, const char *event)
{
    put(arg, "    ");
    put(arg, from);
    put(arg, " --> ");
    put(arg, to);
    put(arg, ": ");
    put(arg, event);
    put(arg, "\n");
}

static void order_diagram_put(mg_describe_fn *put, void *arg)
{
    put(arg, "```mermaid\nstateDiagram-v2\n    [*] --> pending: submitted\n");
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        for (int event = 0; event < MG_ORDER_EVENT_COUNT; event++) {
            const struct mg_cell *cell =
                mg_order_cell((enum mg_order_state)state, (enum mg_order_event)event);
            if (cell->verdict == MG_GO) {
                edge_put(put, arg, mg_order_state_name((enum mg_order_state)state),
                         mg_order_state_name((enum mg_order_state)cell->next),
                         mg_order_event_name((enum mg_order_event)event));
            }
        }
    }
    put(arg, "```\n");
}

static void step_diagram_put(mg_describe_fn *put, void *arg)
{
    put(arg, "```mermaid\nstateDiagram-v2\n    [*] --> pending: submitted\n");
    for (int state = 0; state < MG_STEP_STATE_COUNT; state++) {
        for (int event = 0; event < MG_STEP_EVENT_COUNT; event++) {
            const struct mg_cell *cell = mg_step_cell((enum mg_step_state)state, (enum mg_step_event)event);
            if (cell->verdict == MG_GO) {
                edge_put(put, arg, mg_step_state_name((enum mg_step_state)state),
                         mg_step_state_name((enum mg_step_state)cell->next),
                         mg_step_event_name((enum mg_step_event)event));
            }
        }
    }
    put(arg, "```\n");
}

void mg_describe_mermaid(mg_describe_fn *put, void *arg)
{
    put(arg, "The order:\n\n");
    order_diagram_put(put, arg);
    put(arg, "\nA step:\n\n");
    step_diagram_put(put, arg);
}

/* No word or reason contains a quotation mark; the table's test checks it. */
static void field_put(mg_describe_fn *put, void *arg, const char *text)
{
    put(arg, "\"");
    put(arg, text);
    put(arg, "\",");
}

static void effect_put(mg_describe_fn *put, void *arg, const char *text, bool *is_first)
{
    put(arg, *is_first ? "" : ", ");
    put(arg, text);
    *is_first = false;
}

/* `status`, `alert`: the names of those that the cell sends and opens. */
static void cell_put(mg_describe_fn *put, void *arg, const struct mg_cell *cell, const char *before_status,
                     enum mg_status status, const char *alert)
{
    bool is_first = true;
    put(arg, "\"");
    if ((cell->effects & MG_CELL_STATUS) != 0) {
        effect_put(put, arg, before_status, &is_first);
        put(arg, mg_status_name(status));
    }
    if ((cell->effects & MG_CELL_REQUEST) != 0) {
        effect_put(put, arg, "request", &is_first);
    }
    if ((cell->effects & MG_CELL_ALERT) != 0) {
        effect_put(put, arg, alert, &is_first);
    }
    if ((cell->effects & MG_CELL_CLOSE_ALERT) != 0) {
        effect_put(put, arg, "close alert", &is_first);
    }
    put(arg, "\",\"");
    put(arg, cell->why);
    put(arg, "\"\r\n");
}

static void order_cell_put(mg_describe_fn *put, void *arg, enum mg_order_state state,
                           enum mg_order_event event)
{
    const struct mg_cell *cell = mg_order_cell(state, event);
    enum mg_order_state next = (enum mg_order_state)cell->next;
    field_put(put, arg, "order");
    field_put(put, arg, mg_order_state_name(state));
    field_put(put, arg, mg_order_event_name(event));
    field_put(put, arg, verdict_name(cell->verdict));
    field_put(put, arg, mg_order_state_name(next));
    cell_put(put, arg, cell, "status ", mg_order_state_status(next), "alert");
}

static void step_cell_put(mg_describe_fn *put, void *arg, enum mg_step_state state, enum mg_step_event event)
{
    const struct mg_cell *cell = mg_step_cell(state, event);
    field_put(put, arg, "step");
    field_put(put, arg, mg_step_state_name(state));
    field_put(put, arg, mg_step_event_name(event));
    field_put(put, arg, verdict_name(cell->verdict));
    field_put(put, arg, mg_step_state_name((enum mg_step_state)cell->next));
    cell_put(put, arg, cell, "", MG_STATUS_STEP_COMPLETED,
             event == MG_STEP_EVENT_DOUBT ? "alert if an operator must decide" : "alert");
}

void mg_describe_csv(mg_describe_fn *put, void *arg)
{
    put(arg, "\"table\",\"state\",\"event\",\"verdict\",\"next\",\"effects\",\"why\"\r\n");
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        for (int event = 0; event < MG_ORDER_EVENT_COUNT; event++) {
            order_cell_put(put, arg, (enum mg_order_state)state, (enum mg_order_event)event);
        }
    }
    for (int state = 0; state < MG_STEP_STATE_COUNT; state++) {
        for (int event = 0; event < MG_STEP_EVENT_COUNT; event++) {
            step_cell_put(put, arg, (enum mg_step_state)state, (enum mg_step_event)event);
        }
    }
}
