/* The answer about one order: its row, with the explanation that the tool and the console have, too. */
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "gateway/call.h"
#include "operator/explain.h"
#include "operator/steps.h"

#define ORDER_MAX (1024u * 1024) /* the output has 64 KiB, the rest is short */

/* An order that is being explained. */
struct explaining {
    struct mg_call *call;
    struct mg_table order, steps;
    struct mg_table since; /* the rows of the steps as they came: each has the moment */
};

static void explaining_destroy(struct explaining *explaining)
{
    mg_table_free(&explaining->order);
    mg_table_free(&explaining->steps);
    mg_table_free(&explaining->since);
    free(explaining);
}

static void answer_write(struct mg_buf *json, const struct explaining *explaining, struct mg_slice definition)
{
    struct mg_table whole = {0};
    struct mg_explanation explanation;
    bool is_whole = mg_steps_complete(&explaining->order, &explaining->steps, definition, &whole);
    const struct mg_explain_facts facts = {.order = &explaining->order,
                                           .steps = is_whole ? &whole : &explaining->steps,
                                           .definition = definition,
                                           .since = &explaining->since};
    mg_explanation_make(&explanation, &facts);
    struct mg_json_writer writer = mg_json_spaced(json);
    mg_json_object_begin(&writer);
    mg_table_write_members(&writer, &explaining->order, 0);
    mg_explanation_write(&writer, &explanation);
    mg_json_object_end(&writer);
    mg_buf_append_text(json, "\n");
    mg_explanation_free(&explanation);
    mg_table_free(&whole);
}

/* Ends the call, and frees all that it has read. */
static void explained_answer(struct explaining *explaining, struct mg_slice definition)
{
    struct mg_call *call = explaining->call;
    struct mg_buf json;
    mg_buf_init(&json, ORDER_MAX);
    answer_write(&json, explaining, definition);
    explaining_destroy(explaining);
    if (json.failed) {
        mg_call_refuse(call, 503, "no memory for the answer");
    } else {
        mg_call_answer(call, 200, mg_buf_slice(&json));
    }
    mg_buf_finish(&json);
}

static void refuse(struct explaining *explaining, const char *text)
{
    struct mg_call *call = explaining->call;
    explaining_destroy(explaining);
    mg_call_refuse(call, 503, "could not look up the order: %s", text);
}

/* Without its definition the order has no third line, but an answer. */
static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    struct explaining *explaining = arg;
    (void)version;
    if (explaining->call->request == NULL || err != NULL) {
        refuse(explaining, err != NULL ? err->text : "the end");
        return;
    }
    if (found) {
        (void)mg_kept_put(explaining->call->gateway->kept, definition);
    }
    explained_answer(explaining, found ? definition : (struct mg_slice){NULL, 0});
}

static void on_steps(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct explaining *explaining = arg;
    struct mg_gateway *gateway = explaining->call->gateway;
    if (explaining->call->request == NULL || err != NULL) {
        refuse(explaining, err != NULL ? err->text : "the end");
        return;
    }
    if (!mg_table_keep(&explaining->since, rows, false) || !mg_table_keep(&explaining->steps, rows, false)) {
        refuse(explaining, "no memory");
        return;
    }
    if (mg_table_cell(&explaining->steps, 0, "step")[0] == '\0') { /* it has none: the moment alone */
        mg_table_free(&explaining->steps);
        explaining->steps = (struct mg_table){0};
    }
    const char *name = mg_table_cell(&explaining->order, 0, "workflow");
    int64_t version = strtoll(mg_table_cell(&explaining->order, 0, "workflow_version"), NULL, 10);
    const struct mg_workflow *workflow = mg_kept_find(gateway->kept, name, version);
    if (workflow != NULL) {
        explained_answer(explaining, workflow->text);
    } else {
        mg_store_get_workflow(gateway->store, name, version, on_workflow, explaining);
    }
}

/* A processed, compensated or cancelled order needs no steps for its explanation. */
static bool is_over(const struct mg_table *order)
{
    return mg_explain_has_ended(order) &&
           strcmp(mg_table_cell(order, 0, "state"), mg_order_state_name(MG_ORDER_ERROR)) != 0;
}

void mg_order_answer(struct mg_call *call, const struct mg_rows *rows)
{
    struct explaining *explaining = calloc(1, sizeof(*explaining));
    if (explaining == NULL) {
        mg_call_refuse(call, 503, "no memory for the answer");
        return;
    }
    explaining->call = call;
    if (!mg_table_keep(&explaining->order, rows, false)) {
        refuse(explaining, "no memory");
    } else if (is_over(&explaining->order) ||
               mg_table_cell(&explaining->order, 0, "archived_on")[0] != '\0') {
        explained_answer(explaining, (struct mg_slice){NULL, 0});
    } else {
        mg_store_report(call->gateway->store, MG_REPORT_STEPS_OF_CLIENT, (const char *[]){call->order_id}, 1,
                        on_steps, explaining);
    }
}

void mg_order_answer_state(struct mg_call *call, const char *state)
{
    char memory[MG_ORDER_ID_MAX + 64];
    struct mg_buf json;
    mg_buf_init_fixed(&json, memory, sizeof(memory));
    mg_buf_printf(&json, "{\"order_id\": \"%s\", \"state\": \"%s\"}\n", call->order_id, state);
    mg_call_answer(call, 200, mg_buf_slice(&json));
}
