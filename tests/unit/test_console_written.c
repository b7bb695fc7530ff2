/*
 * The console's answers, to the byte: pages, and people's scripts, read them. The rows are the test's, and so
 * is a queue of dead letters; no database, no broker, no wire.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "console/console_parts.h"
#include "io/amqp/topology.h"
#include "suite.h"

/* ---- parts under the console, replaced at link time ---- */

const char *test_query(const struct mg_http_exchange *request,
                       const char *name) __asm__("__wrap_mg_http_exchange_query");
void test_answer(struct mg_http_exchange *request,
                 const struct mg_http_response *answer) __asm__("__wrap_mg_http_answer");
void test_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg),
                  void *arg) __asm__("__wrap_mg_http_exchange_on_gone");
bool test_offload(struct mg_loop *loop, mg_loop_fn *work, mg_loop_fn *done,
                  void *arg) __asm__("__wrap_mg_loop_offload");
enum mg_class test_look(const struct mg_broker_address *address, const char *queue, int max,
                        void (*show)(void *arg, const struct mg_dead_letter *letter), void *arg,
                        int *ret_count, struct mg_err *err) __asm__("__wrap_mg_topology_look");

static struct mg_buf out; /* what was written, or answered */
static unsigned int status;
static const struct mg_dead_letter *letters;
static int letter_count;
static mg_loop_fn *offloaded;
static void *offloaded_arg;
static char somebody; /* stands for a request */
#define REQUEST ((struct mg_http_exchange *)(void *)&somebody)

const char *test_query(const struct mg_http_exchange *request, const char *name)
{
    (void)request;
    (void)name;
    return NULL;
}

void test_answer(struct mg_http_exchange *request, const struct mg_http_response *answer)
{
    (void)request;
    status = answer->status;
    ck_assert_str_eq(answer->type, "application/json");
    mg_buf_clear(&out);
    mg_buf_append_slice(&out, answer->body);
}

void test_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg), void *arg)
{
    (void)request;
    (void)gone;
    (void)arg;
}

bool test_offload(struct mg_loop *loop, mg_loop_fn *work, mg_loop_fn *done, void *arg)
{
    (void)loop;
    work(arg);
    offloaded = done;
    offloaded_arg = arg;
    return true;
}

enum mg_class test_look(const struct mg_broker_address *address, const char *queue, int max,
                        void (*show)(void *arg, const struct mg_dead_letter *letter), void *arg,
                        int *ret_count, struct mg_err *err)
{
    (void)address;
    (void)queue;
    (void)max;
    (void)err;
    for (int i = 0; i < letter_count; i++) {
        show(arg, &letters[i]);
    }
    *ret_count = letter_count;
    return MG_OK;
}

static void set_up(void)
{
    mg_buf_init(&out, MG_ANSWER_MAX_BYTES);
}

static void tear_down(void)
{
    mg_buf_finish(&out);
}

static void assert_written(unsigned int expected, const char *text)
{
    ck_assert(!out.failed);
    ck_assert_uint_eq(status, expected);
    ck_assert_str_eq(out.data, text);
    mg_buf_clear(&out);
}

/* ---- pages ---- */

#define COLUMNS_MAX 19
#define ROWS_MAX    60

/* The tables of one page, by the index of its reports. Texts are constants, so nothing is freed. */
static struct rows {
    char *columns[COLUMNS_MAX], *cells[ROWS_MAX * COLUMNS_MAX];
    enum mg_value_type types[COLUMNS_MAX];
} room[MG_REPORTS_MAX];
static struct mg_table tables[MG_REPORTS_MAX];

static char *text_of(const char *constant)
{
    union {
        const char *given;
        char *kept;
    } text = {constant};
    return text.kept;
}

/* As the reports declare them. */
static enum mg_value_type type_of(const char *column)
{
    static const char *const json[] = {"payload", "result", "dossier", "filter", NULL};
    static const char *const numbers[] = {"n", "alert_id", "version", "count", "looked_at", NULL};
    if (mg_text_is_listed(json, column)) {
        return MG_VALUE_JSON;
    }
    return mg_text_is_listed(numbers, column) ? MG_VALUE_NUMBER : MG_VALUE_TEXT;
}

/* Columns and cells; the same row `row_count` times. */
static void rows_put(int report, int row_count, int column_count, const char *const *columns,
                     const char *const *cells)
{
    struct rows *rows = &room[report];
    for (int i = 0; i < column_count; i++) {
        rows->columns[i] = text_of(columns[i]);
        rows->types[i] = type_of(columns[i]);
        for (int row = 0; row < row_count; row++) {
            rows->cells[row * column_count + i] = text_of(cells[i]);
        }
    }
    tables[report] = (struct mg_table){.row_count = row_count,
                                       .column_count = column_count,
                                       .columns = rows->columns,
                                       .types = rows->types,
                                       .cells = rows->cells};
}

static void one_put(int report, int row_count, const char *column, const char *cell)
{
    rows_put(report, row_count, 1, &column, &cell);
}

/* A page of one order, or of none. */
static void page_put(int report, const char *order_id, const char *next)
{
    static const char *const columns[] = {"order_id",     "workflow",    "state",        "goal",
                                          "reason",       "n",           "created_at",   "updated_at",
                                          "complete_by",  "line",        "waits_step",   "waits_service",
                                          "waits_reason", "failed_step", "failed_error", "looked_at",
                                          "is_full",      "back_to",     "next"};
    const char *const cells[] = {order_id,     "w",   "pending", "processed",    "none", "0",  "x", "y", NULL,
                                 "customer/1", "pay", "bank",    "breaker_open", NULL,   NULL, "7", "t", NULL,
                                 next};
    rows_put(report, 1, 19, columns, cells);
}
#define PAGE_ORDER                                                                                                                    \
    "{\"order_id\": \"o-1\", \"workflow\": \"w\", \"state\": \"pending\", \"goal\": \"processed\", "                                  \
    "\"reason\": \"none\", \"n\": 0, \"created_at\": \"x\", \"updated_at\": \"y\", \"complete_by\": null, \"line\": \"customer/1\", " \
    "\"waits_step\": \"pay\", \"waits_service\": \"bank\", \"waits_reason\": \"breaker_open\", \"failed_step\": null, \"failed_error\": null}"

static void tables_clear(void)
{
    for (int i = 0; i < MG_REPORTS_MAX; i++) {
        tables[i] = (struct mg_table){.row_count = 0};
    }
}

static void render(query_fn *query_of, const char *id)
{
    struct mg_page page = {.request = REQUEST, .id = id};
    struct mg_query query;
    ck_assert_msg(query_of(&page, &query), "%s", page.refusal);
    status = query.render(&query, tables, &out);
}

START_TEST(the_overview)
{
    static const char *const columns[] = {"state", "filter"}, *const cells[] = {"running",
                                                                                "{\"step\": \"a\"}"};
    struct mg_query query;
    tables_clear();
    one_put(0, 2, "figure", "a \"b\"\xc3");
    one_put(2, 1, "service", NULL);
    rows_put(5, 1, 2, columns, cells);
    page_put(7, "o-1", NULL);
    one_put(8, 1, "now_ms", "1769862896789");
    mg_query_overview(&query);
    status = query.render(&query, tables, &out);
    assert_written(
        200,
        "{\"figures\": [{\"figure\": \"a \\\"b\\\"\\ufffd\"},\n {\"figure\": \"a \\\"b\\\"\\ufffd\"}], "
        "\"groups\": [], \"services\": [{\"service\": null}], \"leader\": [], "
        "\"causes\": [], \"bulk\": [{\"state\": \"running\", \"filter\": {\"step\": \"a\"}}], \"runner\": [], "
        "\"minutes\": [], \"order_minutes\": [], "
        "\"oldest\": {\"orders\": [" PAGE_ORDER
        "], \"looked_at\": 7, \"is_full\": true, \"back_to\": null, \"next\": null}, "
        "\"now_ms\": 1769862896789}");
}
END_TEST

START_TEST(an_order)
{
    static const char *const columns[] = {"order_id", "state", "payload", "archived_on", "output"};
    static const char *const cells[] = {"o-1", "pending", "{\"price\": 14.00}", "2026-01-31", "[7.50]"};
    static const char dossier[] = "{\"workflow\": {\"definition\": {\"steps\":[1.0]}}}";
    tables_clear();
    one_put(0, 1, "dossier", dossier);
    rows_put(1, 1, 5, columns, cells);
    one_put(2, 1, "result", "{\"paid\": 14.00}");
    render(mg_query_order, "o-1");
    assert_written(
        200,
        "{\"explanation\": {\"what\": \"order o-1 is pending\", \"since\": null, "
        "\"why\": \"no request has been sent yet\", \"codes\": [], \"next\": \"the supervisor looks at it in a moment\", "
        "\"next_at\": null, \"notes\": []}, \"line\": \"\", \"archived_on\": \"2026-01-31\", "
        "\"dossier\": {\"workflow\": {\"definition\": {\"steps\":[1.0]}}}, "
        "\"payload\": \"{\\\"price\\\": 14.00}\", \"output\": \"[7.50]\", \"definition\": \"{\\\"steps\\\":[1.0]}\", "
        "\"graph\": null, \"steps\": [{\"result\": \"{\\\"paid\\\": 14.00}\", \"why\": null, \"attempts_counted\": null, \"attempts_allowed\": null}]}");
    one_put(0, 1, "dossier", "{}");
    render(mg_query_order, "o-1");
    ck_assert_ptr_nonnull(strstr(out.data, ", \"definition\": \"\", \"graph\": null, \"steps\": ["));
    mg_buf_clear(&out);
    tables_clear();
    render(mg_query_order, "o-2");
    assert_written(404, "{\"error\": \"unknown order o-2; give its full id\"}");
}
END_TEST

/* Would catch: a page without the steps that have not begun, or without the words of a skip. */
START_TEST(an_order_with_all_its_steps)
{
    static const char *const columns[] = {"step", "state", "reason", "error_text", "attempt"};
    static const char *const cells[] = {"gift", "skipped", "when_false", "payload.gift was false", "0"};
    static const char *const order_columns[] = {"order_id", "state", "goal"};
    static const char *const order_cells[] = {"o-1", "processing", "processed"};
    static const char dossier[] =
        "{\"workflow\": {\"definition\": {\"workflow\":\"w\",\"version\":1,\"steps\":["
        "{\"step\":\"gift\",\"service\":\"s\",\"when\":\"payload.gift\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"},"
        "{\"step\":\"ship\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"}]}}}";
    tables_clear();
    one_put(0, 1, "dossier", dossier);
    rows_put(1, 1, 3, order_columns, order_cells);
    rows_put(2, 1, 5, columns, cells);
    render(mg_query_order, "o-1");
    ck_assert_ptr_nonnull(
        strstr(out.data, "\"why\": \"payload.gift was false\", \"attempts_counted\": null,"));
    ck_assert_ptr_nonnull(strstr(out.data,
                                 "{\"step\": \"ship\", \"state\": \"not yet\", \"reason\": \"none\", "
                                 "\"error_text\": null, \"attempt\": \"0\", \"why\": null, "
                                 "\"attempts_counted\": null, \"attempts_allowed\": null}"));
}
END_TEST

/* Would catch: a line that an order in error holds up, and a page without its button. */
START_TEST(an_order_in_error_with_a_place_in_a_line)
{
    static const char *const columns[] = {"order_id", "state", "goal", "reason"};
    static const char *const cells[] = {"o-1", "error", "processed", "operator"};
    static const char *const line_columns[] = {"order_id", "key", "before", "length"};
    static const char *const line_cells[] = {"o-1", "customer/1", "0", "3"};
    static const char dossier[] =
        "{\"workflow\": {\"definition\": {\"workflow\":\"w\",\"version\":1,\"sequence\":{\"key\":\"k\"},\"steps\":["
        "{\"step\":\"ship\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"}]}}}";
    tables_clear();
    one_put(0, 1, "dossier", dossier);
    rows_put(1, 1, 4, columns, cells);
    render(mg_query_order, "o-1");
    ck_assert_ptr_nonnull(strstr(out.data, "\"release\": false"));
    rows_put(8, 1, 4, line_columns, line_cells); /* the last report */
    render(mg_query_order, "o-1");
    ck_assert_ptr_nonnull(strstr(out.data, "\"line\": \"customer/1\""));
    ck_assert_ptr_nonnull(strstr(out.data, "\"release\": true"));
}
END_TEST

START_TEST(lists)
{
    tables_clear();
    one_put(0, 1, "a", "b");
    one_put(1, 1, "c", "d");
    render(mg_query_services, NULL);
    assert_written(200, "{\"services\": [{\"a\": \"b\"}], \"agents\": [{\"c\": \"d\"}], \"minutes\": []}");
    render(mg_query_workflows, NULL);
    assert_written(200, "{\"workflows\": [{\"a\": \"b\"}], \"steps\": [{\"c\": \"d\"}], \"is_cut\": false}");
    render(mg_query_alerts, NULL);
    assert_written(200, "{\"alerts\": [{\"a\": \"b\"}], \"causes\": [{\"c\": \"d\"}], \"is_cut\": false}");
    render(mg_query_choice, NULL);
    assert_written(200, "{\"a\": \"b\"}");
    struct mg_query query;
    mg_query_versions("o-1", &query);
    status = query.render(&query, tables, &out);
    assert_written(200, "[{\"a\": \"b\"}]");
    page_put(0, NULL, "1/o-9");
    render(mg_query_orders, NULL);
    assert_written(200, "{\"orders\": [], \"looked_at\": 7, \"is_full\": true, \"back_to\": null, "
                        "\"next\": \"1/o-9\"}");
}
END_TEST

/* Would catch: a button with other digits in its payload, a choice for a person without the right to answer,
 * and an order's payload as JSON of the page. */
START_TEST(waits_have_their_buttons)
{
    static const char *const columns[] = {"order_id", "signal",  "counted", "of",
                                          "from",     "choices", "payload", "shown"};
    static const char *const ours[] = {"o-1",
                                       "approved",
                                       "1",
                                       "2",
                                       "[\"client:psp\", \"operator\"]",
                                       "{\"Yes\": {\"limit\": 14.00}, \"No\": false}",
                                       "{\"total\": 7.50}",
                                       "5f"};
    static const char *const theirs[] = {"o-2", "settled", "0", "1", "[\"client\"]", NULL, NULL, NULL};
    tables_clear();
    rows_put(0, 1, 8, columns, ours);
    render(mg_query_waiting, NULL);
    ck_assert_ptr_nonnull(strstr(out.data, "{\"waiting\": [{\"order_id\": \"o-1\", \"workflow\": null, "));
    ck_assert_ptr_nonnull(strstr(
        out.data,
        "\"payload\": \"{\\\"total\\\": 7.50}\", \"shown\": \"5f\", \"counted\": 1, \"of\": 2, \"labels\": null, "
        "\"may_sign\": true, \"choices\": [{\"word\": \"Yes\", \"payload\": \"{\\\"limit\\\": 14.00}\"}, "
        "{\"word\": \"No\", \"payload\": \"false\"}]}], \"next\": null}"));
    mg_buf_clear(&out);
    tables_clear();
    rows_put(0, 1, 8, columns, theirs);
    render(mg_query_waiting, NULL);
    ck_assert_ptr_nonnull(
        strstr(out.data, "\"payload\": null, \"shown\": null, \"counted\": 0, \"of\": 1, \"labels\": null, "
                         "\"may_sign\": false, \"choices\": []}]"));
    mg_buf_clear(&out);
    page_put(0, NULL, "1/o-9/0");
    render(mg_query_waiting, NULL);
    assert_written(200, "{\"waiting\": [], \"next\": \"1/o-9/0\"}");
}
END_TEST

START_TEST(groups_of_failures)
{
    static const char *const columns[] = {"looked_at", "is_full", "oldest"}, *const cells[] = {"7", "t", "x"};
    tables_clear();
    one_put(0, 1, "a", "b");
    rows_put(1, 1, 3, columns, cells);
    render(mg_query_failures, NULL);
    assert_written(200,
                   "{\"groups\": [{\"a\": \"b\"}], \"looked_at\": 7, \"is_full\": true, \"back_to\": \"x\", "
                   "\"is_cut\": false}");
}
END_TEST

START_TEST(bulks)
{
    static const char id[] = "0f8fad5b-d9cb-469f-a165-70867728950e";
    static const char *const columns[] = {"bulk_id", "filter"}, *const cells[] = {id, "{\"step\": \"a\"}"};
    tables_clear();
    rows_put(0, 1, 2, columns, cells);
    one_put(1, 1, "n", "9");
    one_put(2, 1, "holder", "h");
    render(mg_query_bulk_list, NULL);
    assert_written(200, "{\"bulk\": [{\"bulk_id\": \"0f8fad5b-d9cb-469f-a165-70867728950e\", "
                        "\"filter\": {\"step\": \"a\"}}], \"runner\": [{\"n\": 9}], \"is_cut\": false}");
    render(mg_query_bulk, id);
    assert_written(200, "{\"bulk\": {\"bulk_id\": \"0f8fad5b-d9cb-469f-a165-70867728950e\", "
                        "\"filter\": {\"step\": \"a\"}}, \"orders\": [{\"n\": 9}], "
                        "\"runner\": [{\"holder\": \"h\"}], \"next\": null}");
    tables_clear();
    render(mg_query_bulk, id);
    assert_written(404, "{\"error\": \"unknown bulk action\"}");
}
END_TEST

/* ---- dead letters ---- */

static struct mg_slice no_text(void)
{
    return (struct mg_slice){NULL, 0};
}

START_TEST(dead_letters)
{
    static const struct mg_process_options process = {.broker = {.url = ""}};
    static const struct mg_console_options options = {.process = &process};
    struct mg_console console = {.options = &options};
    const struct mg_dead_letter two[] = {{.body = mg_slice_of("{\"n\": 14.00}\xc3"),
                                          .message_id = mg_slice_of("m"),
                                          .type = mg_slice_of(""),
                                          .correlation_id = no_text(),
                                          .queue = mg_slice_of("replies"),
                                          .reason = {"a\0b", 3},
                                          .exchange = mg_slice_of("makegood.replies"),
                                          .died_at_ms = INT64_C(1769862896789)},
                                         {.queue = mg_slice_of("q"), .obstacle = "it is too large"}};
    char marks[2][33], expected[1024];
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of("replies\nm\n{\"n\": 14.00}\xc3"), digest);
    *mg_hex_write(digest, 16, marks[0]) = '\0';
    mg_sha256(mg_slice_of("q\n\n"), digest);
    *mg_hex_write(digest, 16, marks[1]) = '\0';
    (void)snprintf(
        expected, sizeof(expected),
        "{\"letters\": [{\"mark\": \"%s\", \"queue\": \"replies\", \"exchange\": \"makegood.replies\", "
        "\"type\": \"\", \"message_id\": \"m\", \"correlation_id\": null, \"reason\": \"a?b\", "
        "\"died_at\": \"2026-01-31T12:34:56.789Z\", \"obstacle\": null, \"body\": \"{\\\"n\\\": 14.00}?\", "
        "\"is_cut\": false},\n"
        " {\"mark\": \"%s\", \"queue\": \"q\", \"exchange\": null, \"type\": null, "
        "\"message_id\": null, \"correlation_id\": null, \"reason\": null, \"died_at\": null, "
        "\"obstacle\": \"it is too large\", \"body\": null, \"is_cut\": false}], \"is_cut\": false}",
        marks[0], marks[1]);
    for (letter_count = 2; letter_count >= 0; letter_count -= 2) {
        struct mg_dead *dead = mg_dead_create(&console);
        ck_assert_ptr_nonnull(dead);
        letters = two;
        mg_dead_list(dead, REQUEST);
        offloaded(offloaded_arg);
        assert_written(200, letter_count > 0 ? expected : "{\"letters\": [], \"is_cut\": false}");
        mg_dead_destroy(dead);
    }
}
END_TEST

/* ---- visitors, and answers of one text ---- */

START_TEST(a_visitor)
{
    struct mg_visitor visitor = {
        .role = MG_ROLE_OPERATOR, .name = "otto \"o\" via gate", .csrf = "ab", .has_login = true};
    mg_session_send(REQUEST, &visitor);
    assert_written(200, "{\"name\": \"otto \\\"o\\\" via gate\", \"role\": \"operator\", \"csrf\": \"ab\", "
                        "\"needs_login\": true, \"version\": \"" MG_VERSION "\"}\n");
    visitor = (struct mg_visitor){.role = MG_ROLE_NONE};
    mg_session_send(REQUEST, &visitor);
    assert_written(200, "{\"name\": \"\", \"role\": \"none\", \"csrf\": \"\", \"needs_login\": false, "
                        "\"version\": \"" MG_VERSION "\"}\n");
}
END_TEST

START_TEST(one_text)
{
    mg_answer_error(REQUEST, 400, "%s: \"%.1s\"", "a", "\xc3\xbc");
    assert_written(400, "{\"error\": \"a: \\\"?\\\"\"}\n");
    mg_answer_text(REQUEST, 200, "the order is \"processed\"");
    assert_written(200, "{\"text\": \"the order is \\\"processed\\\"\"}");
    mg_error_write(&out, "no memory for this answer");
    status = 503;
    assert_written(503, "{\"error\": \"no memory for this answer\"}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("console_written");
    TCase *tests = tcase_create("console_written");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_overview);
    tcase_add_test(tests, an_order);
    tcase_add_test(tests, an_order_with_all_its_steps);
    tcase_add_test(tests, an_order_in_error_with_a_place_in_a_line);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, waits_have_their_buttons);
    tcase_add_test(tests, groups_of_failures);
    tcase_add_test(tests, bulks);
    tcase_add_test(tests, dead_letters);
    tcase_add_test(tests, a_visitor);
    tcase_add_test(tests, one_text);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
