/*
 * The pages of orders. The tables are larger than the bound of one look; the pages together show every order
 * once. PostgreSQL itself reads them as JSON and compares them with the tables.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"

#define PAGE_TEXT_MAX (1024 * 1024)
#define OPEN_PARAMS   6   /* the first of MG_ORDERS_PARAMS */
#define PAGES_MAX     200 /* length of a chain; a longer one never ends */

static struct rig rig;
static char page[PAGE_TEXT_MAX]; /* the last */

/* 30,000 orders, one a second, in blocks of some 800: more than one page looks at. Of each thousand four are
 * open. The three cancelled ones, the only ones of
 * the workflow "rare", are at the beginning. */
static void setup(void)
{
    rig_start(&rig);
    rig_admin(
        &rig,
        "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, received_at)"
        " SELECT 'o-' || n, 1, CASE WHEN n <= 3 THEN 'rare' WHEN n % 3 = 0 THEN 'billing' ELSE 'shipping' END, 1, repeat('x', 120),"
        "  decode(repeat('00', 32), 'hex'), false, '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 second'"
        " FROM generate_series(1, 30000) AS n");
    rig_admin(
        &rig,
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
        "  locked_by, wake_at, workflow, workflow_version, revision, is_high, wants_step_status, created_at)"
        " SELECT o.order_id, CASE WHEN n <= 3 THEN 'cancelled' WHEN n % 1000 < 3 THEN 'processing'"
        "   WHEN n % 1000 = 3 THEN 'pending' ELSE 'processed' END, 'processed', CASE WHEN n <= 3 THEN 'operator' ELSE 'none' END, n, 1, 0, 0, 'test',"
        "  CASE WHEN n > 3 AND n % 1000 < 4 THEN clock_timestamp() + (n % 7) * interval '1 second' END,"
        "  o.workflow, 1, 1, false, false, o.received_at"
        " FROM orders o, LATERAL (SELECT substr(o.order_id, 3)::integer AS n) x");
    rig_admin(
        &rig,
        "INSERT INTO orders SELECT order_id, 2, workflow, workflow_version, payload, digest, is_high, received_at"
        " FROM orders WHERE order_id = 'o-29999'"); /* repaired: still one order */
    rig_admin(
        &rig,
        "CREATE TEMPORARY TABLE seen (n bigint GENERATED ALWAYS AS IDENTITY, order_id text, created_at timestamptz)");
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* The value of a column; absent: NULL. */
static struct mg_slice value_of(const struct mg_rows *rows, int row, const char *column)
{
    int found = mg_rows_column_count(rows) - 1;
    while (found >= 0 && strcmp(mg_rows_column(rows, found), column) != 0) {
        found--;
    }
    ck_assert_msg(found >= 0, "no column %s", column);
    return mg_rows_value(rows, row, found);
}

static void member_put(struct mg_json_writer *json, const struct mg_rows *rows, int row, const char *column)
{
    struct mg_slice value = value_of(rows, row, column);
    if (value.data == NULL) {
        mg_json_member_null(json, column);
    } else {
        mg_json_member_text(json, column, value);
    }
}

/* The rows as JSON: the page's own columns are in each of them. */
static void page_write(const struct mg_rows *rows, struct mg_buf *ret_text)
{
    struct mg_json_writer json = mg_json_spaced(ret_text);
    mg_json_object_begin(&json);
    member_put(&json, rows, 0, "looked_at");
    member_put(&json, rows, 0, "back_to");
    member_put(&json, rows, 0, "next");
    mg_json_name(&json, "orders");
    mg_json_array_begin(&json);
    for (int row = 0; row < mg_rows_count(rows); row++) {
        if (value_of(rows, row, "order_id").data != NULL) {
            mg_json_element(&json);
            mg_json_object_begin(&json);
            member_put(&json, rows, row, "order_id");
            member_put(&json, rows, row, "created_at");
            mg_json_object_end(&json);
        }
    }
    mg_json_array_end(&json);
    mg_json_object_end(&json);
}

static void on_page(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct rig *at = arg;
    if (err == NULL) {
        struct mg_buf text;
        mg_buf_init(&text, sizeof(page) - 1);
        ck_assert_int_ge(mg_rows_count(rows), 1);
        page_write(rows, &text);
        ck_assert(!text.failed);
        memcpy(page, text.data, text.len);
        page[text.len] = '\0';
        mg_buf_finish(&text);
    }
    rig_done(at, err);
}

static void ask(enum mg_report report, const char *const params[MG_ORDERS_PARAMS])
{
    mg_store_report(rig.store, report, params, report == MG_REPORT_ORDERS ? MG_ORDERS_PARAMS : OPEN_PARAMS,
                    on_page, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* A text of the last page, or "" for null. */
static const char *page_value(const char *sql)
{
    static char value[256];
    const char *params[] = {page};
    PGresult *result = PQexecParams(rig.admin, sql, 1, NULL, params, NULL, NULL, 0);
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQerrorMessage(rig.admin));
    (void)snprintf(value, sizeof(value), "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
}

static long page_number(const char *sql)
{
    return strtol(page_value(sql), NULL, 10);
}

static void page_keep(void)
{
    (void)page_value(
        "WITH kept AS (INSERT INTO seen (order_id, created_at) SELECT o->>'order_id', (o->>'created_at')::timestamptz"
        " FROM json_array_elements($1::json->'orders') WITH ORDINALITY AS e(o, n) ORDER BY n RETURNING 1)"
        " SELECT count(*) FROM kept");
}

/* Reads all pages of a list, one after the other; returns their number. */
static int chain_read(enum mg_report report, const char *state, const char *workflow, const char *since,
                      const char *until, const char *limit)
{
    char cursor[256] = "";
    int count = 0;
    rig_admin(&rig, "TRUNCATE seen RESTART IDENTITY");
    do {
        const char *const params[] = {state, workflow, since, until, cursor, limit, "", ""};
        ask(report, params);
        page_keep();
        (void)snprintf(cursor, sizeof(cursor), "%s", page_value("SELECT $1::json->>'next'"));
        ck_assert_int_lt(++count, PAGES_MAX);
    } while (cursor[0] != '\0');
    return count;
}

#define ORDERS_WHERE(condition)                                                                              \
    "SELECT (SELECT array_agg(order_id ORDER BY n) FROM seen) IS NOT DISTINCT FROM (SELECT array_agg("       \
    "order_id ORDER BY created_at DESC) FROM order_process WHERE " condition ")"

static void assert_seen(const char *sql)
{
    ck_assert_msg(strcmp(rig_value(&rig, sql), "t") == 0, "%s orders were seen: not those of %s",
                  rig_value(&rig, "SELECT count(*) FROM seen"), sql);
}

/* Would catch: an order at the border of two looks that is shown twice, or never. */
START_TEST(newest_pages_show_every_order_once)
{
    ck_assert_int_gt(chain_read(MG_REPORT_ORDERS, "", "", "", "", "1000"), 30);
    assert_seen(ORDERS_WHERE("true"));
    (void)chain_read(MG_REPORT_ORDERS, "", "billing", "", "", "777");
    assert_seen(ORDERS_WHERE("workflow = 'billing'"));
}
END_TEST

/* Would catch: "none" as the answer for orders that were not looked at. */
START_TEST(an_empty_page_holds_the_end_of_its_search)
{
    const char *const params[] = {"", "rare", "", "", "", "50", "", ""};
    const char *const cancelled[] = {"cancelled", "", "", "", "", "50", "", ""};
    ask(MG_REPORT_ORDERS, params);
    ck_assert_int_eq(page_number("SELECT json_array_length($1::json->'orders')"), 0);
    ck_assert_str_ne(page_value("SELECT $1::json->>'next'"), "");
    long looked_at = page_number("SELECT ($1::json->>'looked_at')::int");
    ck_assert_int_gt(looked_at, 1000);
    ck_assert_int_lt(looked_at, 30000);
    ck_assert_str_eq(
        page_value(
            "SELECT count(*) FROM order_process WHERE created_at >= ($1::json->>'back_to')::timestamptz"),
        page_value("SELECT ($1::json->>'looked_at')"));
    (void)chain_read(MG_REPORT_ORDERS, "", "rare", "", "", "50");
    assert_seen(ORDERS_WHERE("process_state = 'cancelled'"));
    ask(MG_REPORT_ORDERS, cancelled);
    ck_assert_int_eq(page_number("SELECT json_array_length($1::json->'orders')"), 3);
    ck_assert_int_eq(page_number("SELECT ($1::json->>'looked_at')::int"), 3);
    ck_assert_int_eq(chain_read(MG_REPORT_ORDERS, "cancelled", "", "", "", "2"), 2);
    assert_seen(ORDERS_WHERE("process_state = 'cancelled'"));
}
END_TEST

/* 2026-01-01T00:00:00Z plus `seconds`, as a parameter. */
static void moment_write(long seconds, char ret_text[32])
{
    (void)snprintf(ret_text, 32, "%ld", (1767225600 + seconds) * 1000);
}

/* Would catch: a walk through all newer orders to those of another day. */
START_TEST(a_time_is_found_without_looking_at_what_came_later)
{
    static const long untils[] = {1, 2, 500, 9999, 15000, 29999, 40000};
    char since[32], until[32];
    for (size_t i = 0; i < sizeof(untils) / sizeof(untils[0]); i++) {
        char sql[512];
        moment_write(untils[i], until);
        moment_write(untils[i] - 300, since);
        ck_assert_int_le(chain_read(MG_REPORT_ORDERS, "", "", since, until, "1000"), 2);
        (void)snprintf(sql, sizeof(sql),
                       ORDERS_WHERE("substr(order_id, 3)::int >= %ld AND substr(order_id, 3)::int < %ld"),
                       untils[i] - 300, untils[i]);
        assert_seen(sql);
    }
}
END_TEST

START_TEST(open_pages_show_every_open_order_once_the_first_first)
{
    ck_assert_int_gt(chain_read(MG_REPORT_PAGE_OPEN, "", "", "", "", "7"), 10);
    assert_seen(
        "SELECT (SELECT array_agg(order_id ORDER BY n) FROM seen) = (SELECT array_agg(order_id ORDER BY created_at)"
        " FROM order_process WHERE wake_at IS NOT NULL)");
    (void)chain_read(MG_REPORT_PAGE_OPEN, "pending", "shipping", "", "", "7");
    assert_seen(
        "SELECT (SELECT array_agg(order_id ORDER BY n) FROM seen) IS NOT DISTINCT FROM (SELECT array_agg(order_id"
        " ORDER BY created_at) FROM order_process WHERE process_state = 'pending' AND workflow = 'shipping')");
}
END_TEST

START_TEST(empty_tables_have_empty_pages)
{
    rig_admin(&rig, "TRUNCATE orders, order_process");
    ck_assert_int_eq(chain_read(MG_REPORT_ORDERS, "", "", "", "", "50"), 1);
    ck_assert_int_eq(chain_read(MG_REPORT_ORDERS, "", "", "-1000", "1000", "50"), 1);
    ck_assert_int_eq(chain_read(MG_REPORT_PAGE_OPEN, "", "", "", "", "50"), 1);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM seen"), "0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_pages");
    TCase *cases = tcase_create("pages");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, newest_pages_show_every_order_once);
    tcase_add_test(cases, an_empty_page_holds_the_end_of_its_search);
    tcase_add_test(cases, a_time_is_found_without_looking_at_what_came_later);
    tcase_add_test(cases, open_pages_show_every_open_order_once_the_first_first);
    tcase_add_test(cases, empty_tables_have_empty_pages);
    suite_add_tcase(suite, cases);
    return store_main(suite, "store_pages");
}
