/*
 * Labels: written with their order or not at all, found at once, and gone with the order into the archive.
 * The lists by label and the search read through indexes, for any number of orders with the same value.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/key.h"

#define PAGE_TEXT_MAX 60000

static struct rig rig;
static char page[PAGE_TEXT_MAX], cursor[128]; /* the last */

/* Keeps the ids of a page's orders as an array's text, and its cursor. */
static void on_page(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    size_t len = (size_t)snprintf(page, sizeof(page), "{");
    for (int row = 0; err == NULL && row < mg_rows_count(rows); row++) {
        struct mg_slice order_id = mg_rows_value(rows, row, 0);
        len += (size_t)snprintf(page + len, sizeof(page) - len, "%s%.*s", row > 0 ? "," : "",
                                (int)order_id.len, order_id.data != NULL ? order_id.data : "");
    }
    (void)snprintf(page + len, sizeof(page) - len, "}");
    if (err == NULL) {
        mg_rows_copy(rows, 0, mg_rows_column_count(rows) - 1, cursor, sizeof(cursor));
    }
    rig_done(arg, err);
}

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* ---- writing ---- */

static struct mg_write_pair {
    struct mg_order_record record;
    struct mg_event_record event;
    struct mg_order_write write;
    struct mg_label labels[MG_LABELS_MAX];
} pair[3];

static struct mg_order_write *order_with(int index, const char *order_id, const char *customer,
                                         const char *country)
{
    struct mg_write_pair *made = &pair[index];
    order_make(&made->record, order_id);
    made->labels[0] = (struct mg_label){"customer", mg_slice_of(customer)};
    made->labels[1] = (struct mg_label){"country", mg_slice_of(country)};
    made->record.labels = made->labels;
    made->record.label_count = country != NULL ? 2 : customer != NULL ? 1 : 0;
    made->write = write_make(&made->record, 0, &made->event, order_id);
    made->write.changed_steps = 1;
    return &made->write;
}

static void commit_three(void)
{
    struct mg_order_write writes[3];
    for (int i = 0; i < 3; i++) {
        writes[i] = pair[i].write;
    }
    rig_commit(&rig, writes, 3);
    for (int i = 0; i < 3; i++) {
        pair[i].write.result = writes[i].result;
    }
}

/* Would catch: a label that is lost, in another order's rows, or of another moment than its order. */
START_TEST(labels_are_written_with_their_order)
{
    (void)order_with(0, "o-1", "17", "CH");
    (void)order_with(1, "o-2", NULL, NULL);
    (void)order_with(2, "o-3", "M\xc3\xbcller \"&\" Co", NULL);
    pair[0].record.client = mg_slice_of("shop");
    commit_three();
    ck_assert_str_eq(
        rig_value(&rig,
                  "SELECT string_agg(order_id || ' ' || name || '=' || value, ', ' ORDER BY order_id, name)"
                  " FROM order_label"),
        "o-1 country=CH, o-1 customer=17, o-3 customer=M\xc3\xbcller \"&\" Co");
    ck_assert_str_eq(
        rig_value(&rig, "SELECT count(*) FROM order_label JOIN order_process USING (order_id, created_at)"),
        "3");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id || ' ' || client, ', ') FROM order_label"),
                     "o-1 shop, o-1 shop");
    const char *const first[] = {"o-1"}, *const second[] = {"o-2"};
    assert_has(rig_report(&rig, MG_REPORT_ORDER, first, 1),
               "labels={ \"country\" : \"CH\", \"customer\" : \"17\" }");
    assert_has(rig_report(&rig, MG_REPORT_ORDER, second, 1), "labels={}");
    assert_has(rig_value(&rig, "SELECT makegood_dossier('o-1')->'labels'"),
               "{ \"country\" : \"CH\", \"customer\" : \"17\" }");
}
END_TEST

/* Would catch: labels of a second order of the same id, and labels that are written again with an update. */
START_TEST(an_order_keeps_the_labels_that_it_came_with)
{
    (void)order_with(0, "o-1", "17", NULL);
    (void)order_with(1, "o-2", NULL, NULL);
    (void)order_with(2, "o-3", NULL, NULL);
    commit_three();
    (void)order_with(0, "o-1", "18", "DE");
    (void)order_with(1, "o-4", "19", NULL);
    (void)order_with(2, "o-3", NULL, NULL);
    pair[2].record.labels = pair[0].labels;
    pair[2].record.label_count = 1;
    pair[2].record.order.version = pair[2].event.version = 2;
    pair[2].write = write_make(&pair[2].record, 1, &pair[2].event, "again");
    commit_three();
    ck_assert_int_eq(pair[0].write.result, MG_WRITE_CONFLICT);
    ck_assert_int_eq(pair[1].write.result, MG_WRITE_DONE);
    ck_assert_int_eq(pair[2].write.result, MG_WRITE_DONE);
    ck_assert_str_eq(
        rig_value(&rig,
                  "SELECT string_agg(order_id || ' ' || name || '=' || value, ', ' ORDER BY order_id, name)"
                  " FROM order_label"),
        "o-1 customer=17, o-4 customer=19");
}
END_TEST

/* ---- reading ---- */

/* 30,000 orders, one a second: all of country CH, 30 of each customer, one of each number; more of one value
 * than a page reads. Each hundredth is in error, with a failure; another hundredth is of the workflow "rare".
 */
static void fill(void)
{
    rig_admin(
        &rig,
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
        "  locked_by, workflow, workflow_version, revision, is_high, wants_step_status, wake_at, created_at)"
        " SELECT 'o-' || n, CASE n % 100 WHEN 0 THEN 'error' WHEN 1 THEN 'processing' ELSE 'processed' END, 'processed',"
        "  CASE n % 100 WHEN 0 THEN 'step_failed' ELSE 'none' END, 1, 1, 0, 0, 'test',"
        "  CASE WHEN n % 100 = 7 THEN 'rare' WHEN n % 3 = 0 THEN 'billing' ELSE 'shipping' END, 1, 1, false, false,"
        "  CASE n % 100 WHEN 1 THEN now() + interval '1 day' END, '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 second' FROM generate_series(1, 30000) AS n;"
        "INSERT INTO order_label SELECT order_id, name, value, created_at FROM order_process p,"
        " LATERAL (SELECT substr(p.order_id, 3)::integer AS n) x,"
        " LATERAL (VALUES ('country', 'CH'), ('customer', (n % 1000)::text), ('number', n::text)) AS l (name, value);"
        "INSERT INTO operator_alert (code, subject, order_id, text, workflow, step, service, signature)"
        " SELECT 'order_error', order_id, order_id, 'x', workflow, 'charge', 'payment', 'http_422'"
        "  FROM order_process WHERE process_state = 'error';"
        "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, received_at)"
        " SELECT order_id, 1, workflow, 1, '{}', decode(repeat('00', 32), 'hex'), false, created_at FROM order_process;"
        "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)"
        " VALUES ('o-30000', 2, 'billing', 1, '{}', decode(repeat('00', 32), 'hex'), false);"
        "ANALYZE orders, order_process, order_label, operator_alert");
    rig_admin(&rig, "VACUUM orders, order_label, order_process"); /* so that the numbers of pages repeat */
}

/* For tests that write nothing to these tables: the first of them fills them. */
static void setup_reader(void)
{
    rig_open(&rig);
    if (strcmp(rig_value(&rig, "SELECT count(*) FROM orders"), "0") == 0) {
        fill();
    }
    rig_start_with(&rig, (struct mg_store_options){0}, true);
    rig_admin(&rig, "CREATE TEMPORARY TABLE seen (n bigint GENERATED ALWAYS AS IDENTITY, order_id text)");
}

static const char *list_of(const char *state, const char *workflow, const char *after, const char *limit,
                           const char *labels)
{
    const char *const params[] = {state, workflow, "", "", after, limit, labels != NULL ? labels : "", ""};
    return rig_report(&rig, MG_REPORT_ORDERS, params, MG_ORDERS_PARAMS);
}

static const char *list(const char *state, const char *after, const char *limit, const char *labels)
{
    return list_of(state, "", after, limit, labels);
}

/* The number of orders in the last list; without any there is the row of the page. */
static int orders_in(const char *text)
{
    return strstr(text, "order_id=- ") != NULL ? 0 : rig.row_count;
}

/* The store's sessions are set so, too (store.c). The number of pages that a statement reads. */
static long pages_of(enum mg_report report, const char *params)
{
    char sql[16384];
    rig_admin(&rig, "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off");
    (void)snprintf(sql, sizeof(sql), "PREPARE looked AS %s", mg_store_report_sql(report));
    rig_admin(&rig, sql);
    (void)snprintf(sql, sizeof(sql), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE looked(%s)", params);
    PGresult *plan = PQexec(rig.admin, sql);
    ck_assert_msg(PQresultStatus(plan) == PGRES_TUPLES_OK, "%s", PQerrorMessage(rig.admin));
    long pages = -1;
    for (int row = 0; row < PQntuples(plan) && pages < 0; row++) {
        const char *line = PQgetvalue(plan, row, 0), *hit = strstr(line, "hit="),
                   *read = strstr(line, "read=");
        if (strstr(line, "Buffers: shared") != NULL) {
            pages = (hit != NULL ? strtol(hit + 4, NULL, 10) : 0) +
                    (read != NULL ? strtol(read + 5, NULL, 10) : 0);
        }
    }
    PQclear(plan);
    rig_admin(&rig, "DEALLOCATE looked");
    return pages;
}

/* Would catch: an order with one of the labels only, or of another customer. */
START_TEST(all_labels_of_a_list_must_match)
{
    ck_assert_int_eq(orders_in(list("", "", "100", "{\"customer\":\"42\"}")), 30);
    assert_has(list("", "", "1", "{\"customer\":\"42\",\"country\":\"CH\"}"), "order_id=o-29042 ");
    ck_assert_int_eq(orders_in(list("", "", "100", "{\"customer\":\"42\",\"country\":\"DE\"}")), 0);
    ck_assert_int_eq(orders_in(list("", "", "100", "{\"customer\":\"42\",\"number\":\"7042\"}")), 1);
    ck_assert_int_eq(orders_in(list("error", "", "100", "{\"customer\":\"100\"}")), 30);
    ck_assert_int_eq(orders_in(list("open", "", "100", "{\"customer\":\"101\"}")), 30);
    ck_assert_int_eq(orders_in(list("compensating", "", "100", "{\"customer\":\"101\"}")), 0);
    ck_assert_int_eq(orders_in(list("processed", "", "100", "{\"customer\":\"100\"}")), 0);
    ck_assert_int_eq(orders_in(list("", "", "100", "{\"customer\":\"42' OR true --\"}")), 0);
}
END_TEST

static void assert_found(const char *found, int count, const char *first, const char *looked_at)
{
    ck_assert_msg(orders_in(found) == count, "%d orders in %.500s", rig.row_count, found);
    assert_has(found, first);
    assert_has(found, looked_at);
    ck_assert_ptr_null(strstr(found, "next=1"));
}

/* Would catch: a list without an end, whose time-out is the only answer; and one that reads all orders of a
 * label although fewer are open, or have turned back. */
START_TEST(a_rare_state_behind_a_common_label_costs_a_page)
{
    const char *none = list_of("", "none", "", "50", "{\"country\":\"CH\"}");
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(none, "order_id=- ");
    assert_has(none, "looked_at=10000 ");
    assert_has(none, "back_to=2026-01-01T05:33:21.000Z");
    assert_has(none, "next=1767245601000000/o-20001");
    none = list_of("", "none", "1767245601000000/o-20001", "50", "{\"country\":\"CH\"}");
    assert_has(none, "next=1767235601000000/o-10001");
    none = list_of("processed", "none", "1767225602000000/o-2", "50", "{\"country\":\"CH\"}");
    assert_has(none, "looked_at=1 ");
    ck_assert_ptr_null(strstr(none, "next=1"));
    assert_found(list("cancelled", "", "50", "{\"country\":\"CH\"}"), 0, "order_id=- ", "looked_at=300 ");
    assert_found(list("error", "o-300", "50", "{\"country\":\"CH\"}"), 2, "order_id=o-200 ", "looked_at=2 ");
    const char *open = list("processing", "", "1000", "{\"country\":\"CH\"}");
    ck_assert_int_eq(orders_in(open), 300);
    assert_has(open, "order_id=o-29901 ");
    assert_has(open, "looked_at=300 ");
    ck_assert_ptr_null(strstr(open, "next=1"));
    open = list("open", "o-201", "1000", "{\"country\":\"CH\"}");
    ck_assert_int_eq(orders_in(open), 2);
    long few = pages_of(MG_REPORT_ORDERS, "'pending', '', '', '', '', '50', '{\"country\":\"CH\"}', ''");
    ck_assert_msg(few > 0 && few < 1500, "%ld pages", few);
}
END_TEST

/* Would catch: a list of the newest orders that reads the table. */
START_TEST(a_list_of_all_orders_reads_no_more_than_it_shows)
{
    assert_has(list("", "", "1", NULL), "order_id=o-30000 ");
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(list("", "o-30000", "1", NULL), "order_id=o-29999 ");
    assert_has(list("", "o-2", "9", NULL), "order_id=o-1 ");
    ck_assert_int_eq(rig.row_count, 1);
    long pages = pages_of(MG_REPORT_ORDERS, "'', '', '', '', '', '1', '', ''");
    ck_assert_msg(pages > 0 && pages < 100, "%ld pages", pages);
    pages = pages_of(MG_REPORT_ORDERS, "'', '', '', '', 'o-15000', '1', '', ''");
    ck_assert_msg(pages > 0 && pages < 100, "%ld pages", pages);
}
END_TEST

/* Would catch: a list by state or workflow that reads the table, or that misses an order. */
START_TEST(a_rare_state_or_workflow_of_all_orders_costs_a_page)
{
    assert_found(list("error", "o-30000", "1000", NULL), 299, "order_id=o-29900 ", "looked_at=299 ");
    assert_found(list("error", "o-200", "9", NULL), 1, "order_id=o-100 ", "looked_at=1 ");
    assert_found(list("cancelled", "", "50", NULL), 0, "order_id=- ", "looked_at=300 ");
    assert_found(list("processing", "", "1000", NULL), 300, "order_id=o-29901 ", "looked_at=300 ");
    assert_found(list_of("error", "rare", "", "50", NULL), 0, "order_id=- ", "looked_at=300 ");
    const char *rare = list_of("", "rare", "", "1000", NULL);
    ck_assert_int_eq(orders_in(rare), 100);
    assert_has(rare, "looked_at=10000 ");
    assert_has(rare, "next=1767245601000000/o-20001");
    assert_has(list_of("processed", "rare", "1767245601000000/o-20001", "1", NULL), "order_id=o-19907 ");
    long pages = pages_of(MG_REPORT_ORDERS, "'error', '', '', '', '', '1', '', ''");
    ck_assert_msg(pages > 0 && pages < 400, "%ld pages", pages);
    pages = pages_of(MG_REPORT_ORDERS, "'compensated', 'rare', '', '', '', '50', '', ''");
    ck_assert_msg(pages > 0 && pages < 1200, "%ld pages", pages); /* each of 300 orders by its key */
    pages = pages_of(MG_REPORT_ORDERS, "'', 'none', '', '', '', '1', '', ''");
    ck_assert_msg(pages > 0 && pages < 1000, "%ld pages",
                  pages); /* an order of another workflow is not looked up */
}
END_TEST

/* Would catch: an open order that no list shows, because nothing but a person will move it. */
START_TEST(an_order_that_waits_for_a_person_alone_is_open)
{
    fill();
    rig_admin(&rig,
              "UPDATE order_process SET wake_at = NULL WHERE order_id = 'o-29901';"
              "INSERT INTO operator_alert (code, subject, order_id, text)"
              " SELECT 'outcome_unknown', 'o-29901.' || n, 'o-29901', 'x' FROM generate_series(1, 2) n");
    assert_found(list("processing", "", "1000", NULL), 300, "order_id=o-29901 ", "looked_at=300 ");
    assert_found(list("open", "", "1000", "{\"country\":\"CH\"}"), 300, "order_id=o-29901 ",
                 "looked_at=300 ");
}
END_TEST

/* Would catch: an order at the border of two pages that is shown twice, or never. */
START_TEST(pages_of_one_label_show_every_order_once)
{
    char after[80] = "";
    for (int shown = 0; shown < 30; shown += rig.row_count) {
        const char *text = list("", after, "7", "{\"customer\":\"42\"}");
        ck_assert_int_gt(orders_in(text), 0);
        for (const char *at = strstr(text, "order_id="); at != NULL; at = strstr(at + 1, "order_id=")) {
            char sql[160];
            (void)snprintf(after, sizeof(after), "%.*s", (int)strcspn(at + 9, " "), at + 9);
            (void)snprintf(sql, sizeof(sql), "INSERT INTO seen (order_id) VALUES ('%s')", after);
            rig_admin(&rig, sql);
        }
    }
    ck_assert_str_eq(
        rig_value(
            &rig,
            "SELECT (SELECT array_agg(order_id ORDER BY n) FROM seen) ="
            " (SELECT array_agg(order_id ORDER BY created_at DESC) FROM order_label WHERE value = '42' AND name = 'customer')"),
        "t");
}
END_TEST

/* Would catch: a list that reads all orders of a common value before it takes the first ones or the rare
 * ones, which at a million orders takes seconds. */
START_TEST(a_list_reads_the_rarest_label_and_no_more_than_it_shows)
{
    long one = pages_of(MG_REPORT_ORDERS, "'', '', '', '', '', '50', '{\"customer\":\"42\"}', ''");
    long rare = pages_of(MG_REPORT_ORDERS,
                         "'', '', '', '', '', '50', '{\"country\":\"CH\",\"number\":\"7042\"}', ''");
    long common = pages_of(MG_REPORT_ORDERS, "'', '', '', '', '', '50', '{\"country\":\"CH\"}', ''");
    long mixed = pages_of(MG_REPORT_ORDERS,
                          "'error', '', '', '', '', '50', '{\"country\":\"CH\",\"customer\":\"42\"}', ''");
    ck_assert_msg(one > 0 && one < 400, "%ld pages", one);
    ck_assert_msg(rare > 0 && rare < 600, "%ld pages", rare); /* the common one is counted, up to a bound */
    ck_assert_msg(common > 0 && common < 600, "%ld pages", common);
    ck_assert_msg(mixed > 0 && mixed < 600, "%ld pages", mixed);
    ck_assert_msg(pages_of(MG_REPORT_FIND, "'o-1234', '50'") < 600, "the search by id");
    ck_assert_msg(pages_of(MG_REPORT_FIND, "'CH', '50'") < 600, "the search by label");
}
END_TEST

/* Would catch: a page of the console that is without an end, or without the orders after its bound. */
START_TEST(pages_of_a_common_label_are_bounded_and_show_every_order)
{
    int pages = 0;
    cursor[0] = '\0';
    do {
        const char *const params[] = {"", "rare", "", "", cursor, "1000", "{\"country\":\"CH\"}", ""};
        char sql[65536];
        mg_store_report(rig.store, MG_REPORT_ORDERS, params, MG_ORDERS_PARAMS, on_page, &rig);
        rig_wait_answer(&rig);
        ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
        (void)snprintf(sql, sizeof(sql), "INSERT INTO seen (order_id) SELECT unnest('%s'::text[])", page);
        rig_admin(&rig, sql);
        ck_assert_int_lt(++pages, 20);
    } while (cursor[0] != '\0');
    ck_assert_int_eq(pages, 4);
    ck_assert_str_eq(
        rig_value(&rig,
                  "SELECT (SELECT array_agg(order_id ORDER BY n) FROM seen) = (SELECT array_agg(order_id"
                  " ORDER BY created_at DESC) FROM order_process WHERE workflow = 'rare')"),
        "t");
}
END_TEST

/* Would catch: failures and bulk actions of orders without the label. */
START_TEST(failures_are_chosen_by_label)
{
    const char *const failures[] = {"", "charge", "", "", "", "", "", "1000", "{\"customer\":\"100\"}"};
    const char *const groups[] = {"shipping", "", "", "", "", "", "50", "{\"customer\":\"100\"}"};
    const char *const choice[] = {"", "", "", "", "", "", "{\"customer\":\"100\",\"country\":\"CH\"}"};
    const char *const none[] = {"", "", "", "", "", "", "{\"customer\":\"101\"}"};
    (void)rig_report(&rig, MG_REPORT_FAILURES, failures, 9);
    ck_assert_int_eq(rig.row_count, 30);
    assert_has(rig_report(&rig, MG_REPORT_FAILURE_GROUPS, groups, 8), "count=20 ");
    assert_has(rig_report(&rig, MG_REPORT_BULK_CHOICE, choice, 7), "orders=30 ");
    assert_has(rig_report(&rig, MG_REPORT_BULK_CHOICE, none, 7), "orders=0 ");
}
END_TEST

/* Would catch: each failure's labels looked up, though few orders have the wanted one. */
START_TEST(failures_of_a_rare_label_are_found_by_it)
{
    long rare = pages_of(MG_REPORT_FAILURES, "'', '', '', '', '', '', '', '50', '{\"customer\":\"42\"}'");
    ck_assert_msg(rare > 0 && rare < 60, "%ld pages", rare);
    const char *const common[] = {"", "", "", "", "", "", "", "1000", "{\"country\":\"CH\"}"};
    (void)rig_report(&rig, MG_REPORT_FAILURES, common, 9);
    ck_assert_int_eq(rig.row_count, 300);
}
END_TEST

/* Would catch: an id that only resembles the text, a label that only begins with it, and a pattern in place
 * of a text. */
START_TEST(a_search_finds_ids_by_their_beginning_and_labels_by_their_value)
{
    const char *const id[] = {"o-2904", "100"}, *const value[] = {"42", "100"},
                      *const pattern[] = {"o-%", "100"};
    fill();
    rig_admin(
        &rig,
        "DO $$ BEGIN EXECUTE format('CREATE TABLE IF NOT EXISTS order_archive_%s PARTITION OF order_archive FOR VALUES FROM"
        " (%L) TO (%L)', to_char(now(), 'YYYYMMDD'), now()::date, now()::date + 1); END $$;"
        "INSERT INTO order_archive (archived_on, order_id, workflow, process_state, ended_at, dossier)"
        " VALUES (now()::date, 'o-2904x', 'w', 'processed', now(), '{}')");
    const char *found = rig_report(&rig, MG_REPORT_FIND, id, 2);
    ck_assert_int_eq(rig.row_count, 12); /* o-2904, o-29040 to o-29049, and the archived one */
    assert_has(found, "found_by=id order_id=o-2904 ");
    assert_has(found, "order_id=o-2904x workflow=w state=processed created_at=- archived_on=2");
    found = rig_report(&rig, MG_REPORT_FIND, value, 2);
    ck_assert_int_eq(rig.row_count, 31); /* 30 of the customer, and the order of this number */
    assert_has(found, "found_by=label number order_id=o-42 ");
    assert_has(found, "found_by=label customer order_id=o-29042 ");
    (void)rig_report(&rig, MG_REPORT_FIND, pattern, 2);
    ck_assert_int_eq(rig.row_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_labels");
    TCase *tests = tcase_create("labels");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, labels_are_written_with_their_order);
    tcase_add_test(tests, an_order_keeps_the_labels_that_it_came_with);
    tcase_add_test(tests, an_order_that_waits_for_a_person_alone_is_open);
    tcase_add_test(tests, a_search_finds_ids_by_their_beginning_and_labels_by_their_value);
    TCase *readers = tcase_create("lists");
    tcase_add_checked_fixture(readers, setup_reader, teardown);
    tcase_set_timeout(readers, 60);
    tcase_add_test(readers, all_labels_of_a_list_must_match);
    tcase_add_test(readers, a_rare_state_behind_a_common_label_costs_a_page);
    tcase_add_test(readers, a_list_of_all_orders_reads_no_more_than_it_shows);
    tcase_add_test(readers, a_rare_state_or_workflow_of_all_orders_costs_a_page);
    tcase_add_test(readers, failures_of_a_rare_label_are_found_by_it);
    tcase_add_test(readers, pages_of_one_label_show_every_order_once);
    tcase_add_test(readers, a_list_reads_the_rarest_label_and_no_more_than_it_shows);
    tcase_add_test(readers, pages_of_a_common_label_are_bounded_and_show_every_order);
    tcase_add_test(readers, failures_are_chosen_by_label);
    suite_add_tcase(suite, readers);
    suite_add_tcase(suite, tests);
    return store_main(suite, "store_labels");
}
