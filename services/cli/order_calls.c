/* `order calls`: the requests of a step, and the answers to them. */

#include "base/print.h"
#include "cli.h"
#include "definition.h"
#include "json/scan.h"
#include "operator/document.h"
#include "operator/step_calls.h"

/* Requests, results and answers of one step. */
#define CALLS_MAX_BYTES ((size_t)32 * 1024 * 1024)
#define TEXT_MAX        1024

struct step_tables {
    struct mg_table order, steps, events, calls;
    struct mg_buf definition;
};

static void tables_free(struct step_tables *tables)
{
    mg_table_free(&tables->order);
    mg_table_free(&tables->steps);
    mg_table_free(&tables->events);
    mg_table_free(&tables->calls);
    mg_buf_finish(&tables->definition);
}

static enum mg_exit_code place_read(struct mg_cli *cli, const enum mg_report reports[3],
                                    struct step_tables *ret)
{
    const char *order[] = {cli->words.items[0]};
    struct mg_table *const tables[] = {&ret->order, &ret->steps, &ret->events};
    enum mg_exit_code code = MG_EXIT_DONE;
    for (int i = 0; i < 3 && code == MG_EXIT_DONE; i++) {
        mg_table_free(tables[i]);
        code = mg_table_read(cli, reports[i], order, 1, tables[i]);
    }
    return code;
}

static enum mg_exit_code tables_read(struct mg_cli *cli, struct step_tables *ret)
{
    static const enum mg_report hot[] = {MG_REPORT_ORDER, MG_REPORT_ORDER_STEPS, MG_REPORT_ORDER_EVENTS};
    static const enum mg_report archive[] = {MG_REPORT_ARCHIVED_ORDER, MG_REPORT_ARCHIVED_STEPS,
                                             MG_REPORT_ARCHIVED_EVENTS};
    const char *calls[] = {cli->words.items[0], cli->words.items[1]};
    enum mg_exit_code code = place_read(cli, hot, ret);
    if (code == MG_EXIT_DONE && ret->order.row_count == 0) {
        code = place_read(cli, archive, ret);
    }
    if (code == MG_EXIT_DONE && ret->order.row_count == 0) {
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no order %s", cli->words.items[0]);
    }
    code = code == MG_EXIT_DONE ? mg_table_read(cli, MG_REPORT_CALLS, calls, 2, &ret->calls) : code;
    if (code == MG_EXIT_DONE &&
        !mg_definition_try(cli, mg_table_cell(&ret->order, 0, "workflow"),
                           mg_table_cell(&ret->order, 0, "workflow_version"), &ret->definition)) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND, "its workflow is not in the database");
    }
    return code;
}

/* ---- for people ---- */

static const char *text_of(struct mg_slice object, const char *pointer, char text[TEXT_MAX])
{
    struct mg_slice value = mg_json_find(object, pointer);
    if (value.data != NULL && mg_json_type_of(value) == MG_JSON_NUMBER) {
        (void)snprintf(text, TEXT_MAX, "%.*s", (int)value.len, value.data);
    } else {
        (void)mg_document_text(object, pointer, text, TEXT_MAX);
    }
    return text;
}

/* A text of any length on a line of its own. */
static void long_print(const char *before, struct mg_slice quoted)
{
    struct mg_buf text;
    mg_buf_init(&text, CALLS_MAX_BYTES);
    if (quoted.data != NULL && mg_json_type_of(quoted) == MG_JSON_STRING && mg_json_string(quoted, &text)) {
        mg_buf_append(&text, "", 1);
        mg_text_make_plain(text.failed ? (char[]){""} : text.data);
        mg_print(stdout, "%s%s\n", before, text.failed ? "" : text.data);
    }
    mg_buf_finish(&text);
}

static void request_print(struct mg_slice request)
{
    char kind[TEXT_MAX], key[TEXT_MAX], method[TEXT_MAX], path[TEXT_MAX], fault[TEXT_MAX];
    struct mg_slice proved = mg_json_find(request, "/is_proved");
    if (text_of(request, "/fault", fault)[0] != '\0') {
        mg_print(stdout, "%-12s cannot be built: %s\n", text_of(request, "/kind", kind), fault);
        return;
    }
    mg_print(stdout, "%-12s %s %s\n", text_of(request, "/kind", kind), text_of(request, "/method", method),
             text_of(request, "/path", path));
    mg_print(stdout, "  key:  %s%s\n", text_of(request, "/idempotency_key", key),
             mg_slice_is(proved, "true")    ? " (these bytes have gone out under it)"
             : mg_slice_is(proved, "false") ? " (other bytes have gone out under it)"
                                            : "");
    long_print("  body: ", mg_json_find(request, "/body"));
    long_print("  ", mg_json_find(request, "/curl"));
}

static void attempt_print(struct mg_slice attempt)
{
    char kind[TEXT_MAX], number[TEXT_MAX], sent[TEXT_MAX], took[TEXT_MAX], answer[TEXT_MAX], state[TEXT_MAX];
    mg_print(stdout, "%s  %-6s attempt %s", text_of(attempt, "/sent_at", sent),
             text_of(attempt, "/kind", kind), text_of(attempt, "/attempt", number));
    if (text_of(attempt, "/took_ms", took)[0] == '\0') {
        mg_print(stdout, ": no answer yet\n");
        return;
    }
    mg_print(stdout, ", %s ms: %s%s%s\n", took, text_of(attempt, "/state", state),
             text_of(attempt, "/answer", answer)[0] != '\0' ? ", " : "", answer);
}

static void list_print(struct mg_slice list, void (*print)(struct mg_slice element))
{
    struct mg_slice none, element;
    for (struct mg_json_walk walk = mg_json_walk_of(list); mg_json_walk_next(&walk, &none, &element);) {
        print(element);
    }
}

static void calls_print(struct mg_slice whole)
{
    char step[TEXT_MAX], service[TEXT_MAX], text[TEXT_MAX];
    if (text_of(whole, "/service", service)[0] == '\0') {
        mg_print(stdout, "step %s waits, and calls no service: it sends no request\n",
                 text_of(whole, "/step", step));
        return;
    }
    mg_print(stdout, "step %s at service %s; URL and secret headers are those of its service file\n\n",
             text_of(whole, "/step", step), service);
    list_print(mg_json_find(whole, "/requests"), request_print);
    mg_print(stdout, "\n");
    list_print(mg_json_find(whole, "/attempts"), attempt_print);
    long_print("result: ", mg_json_find(whole, "/result"));
    if (text_of(whole, "/error_text", text)[0] != '\0') {
        mg_print(stdout, "last failure: %s\n", text);
    }
    long_print("its answer: ", mg_json_find(whole, "/error_body"));
}

enum mg_exit_code mg_verb_order_calls(struct mg_cli *cli)
{
    struct step_tables tables = {0};
    struct mg_buf text;
    bool is_json = cli->is_json;
    mg_buf_init(&text, CALLS_MAX_BYTES);
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    cli->is_json = true; /* rows with their bytes unchanged: a digest is held against them */
    code = code == MG_EXIT_DONE ? tables_read(cli, &tables) : code;
    cli->is_json = is_json;
    struct mg_json_writer json = mg_json_spaced(&text);
    const struct mg_step_calls_facts facts = {.order = &tables.order,
                                              .steps = &tables.steps,
                                              .events = &tables.events,
                                              .calls = &tables.calls,
                                              .definition = mg_buf_slice(&tables.definition)};
    if (code == MG_EXIT_DONE && !mg_step_calls_write(&json, &facts, cli->words.items[1])) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND, "its workflow has no step %s", cli->words.items[1]);
    }
    if (code == MG_EXIT_DONE && text.failed) {
        code = mg_cli_fail(MG_EXIT_ERROR, "could not write the requests: no memory");
    }
    if (code == MG_EXIT_DONE && is_json) {
        code = mg_answer_print_raw(cli, mg_buf_slice(&text));
    } else if (code == MG_EXIT_DONE) {
        calls_print(mg_buf_slice(&text));
    }
    mg_buf_finish(&text);
    tables_free(&tables);
    return code;
}
