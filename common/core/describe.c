/* Prints the transition tables; the only reader of cells that decides nothing. */
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

static void row_put(mg_describe_fn *put, void *arg, const char *const fields[7])
{
    for (int i = 0; i < 7; i++) {
        put(arg, i == 0 ? "\"" : ",\"");
        put(arg, fields[i]); /* no word or reason holds a quotation mark; the table's test checks it */
        put(arg, "\"");
    }
    put(arg, "\r\n");
}

void mg_describe_csv(mg_describe_fn *put, void *arg)
{
    row_put(put, arg, (const char *const[]){"table", "state", "event", "verdict", "next", "effects", "why"});
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        for (int event = 0; event < MG_ORDER_EVENT_COUNT; event++) {
            const struct mg_cell *cell =
                mg_order_cell((enum mg_order_state)state, (enum mg_order_event)event);
            row_put(put, arg,
                    (const char *const[]){
                        "order", mg_order_state_name((enum mg_order_state)state),
                        mg_order_event_name((enum mg_order_event)event), verdict_name(cell->verdict),
                        mg_order_state_name((enum mg_order_state)cell->next), cell->effects, cell->why});
        }
    }
    for (int state = 0; state < MG_STEP_STATE_COUNT; state++) {
        for (int event = 0; event < MG_STEP_EVENT_COUNT; event++) {
            const struct mg_cell *cell = mg_step_cell((enum mg_step_state)state, (enum mg_step_event)event);
            row_put(put, arg,
                    (const char *const[]){
                        "step", mg_step_state_name((enum mg_step_state)state),
                        mg_step_event_name((enum mg_step_event)event), verdict_name(cell->verdict),
                        mg_step_state_name((enum mg_step_state)cell->next), cell->effects, cell->why});
        }
    }
}
