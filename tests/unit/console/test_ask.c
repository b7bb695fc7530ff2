/* How long an answer of the console is kept for equal requests. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "console/console_parts.h"
#include "fake_clock.h"
#include "fake_report.h"

static struct {
    struct mg_console console;
    struct mg_asker *asker;
    int answers;
    unsigned int status; /* of the last answer */
} fake;

bool mg_table_keep(struct mg_table *table, const struct mg_rows *rows, bool with_columns)
{
    (void)table;
    (void)rows;
    (void)with_columns;
    return true;
}

void mg_table_free(struct mg_table *table)
{
    (void)table;
}

bool mg_queues_put(struct mg_queues *queues, struct mg_table *controlled)
{
    (void)queues;
    (void)controlled;
    return true;
}

void mg_error_write(struct mg_buf *out, const char *text)
{
    mg_buf_append_text(out, text);
}

void mg_answer_json(struct mg_http_exchange *request, unsigned int status, struct mg_slice body)
{
    (void)request;
    (void)status;
    (void)body;
    ck_abort_msg("no request is under way");
}

void mg_answer_error(struct mg_http_exchange *request, unsigned int status, const char *format, ...)
{
    (void)request;
    (void)status;
    ck_abort_msg("%s", format);
}

void mg_http_exchange_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg), void *arg)
{
    (void)request;
    (void)gone;
    (void)arg;
}

static unsigned int render(const struct mg_query *query, const struct mg_table *tables, struct mg_buf *out)
{
    (void)query;
    (void)tables;
    mg_buf_append_text(out, "{}");
    return 200;
}

static void on_answered(void *arg, unsigned int status, struct mg_slice json)
{
    (void)arg;
    ck_assert_uint_gt(json.len, 0);
    fake.status = status;
    fake.answers++;
}

/* Asks, and answers the report if there is one, after that time. */
static void ask(int64_t took_ms, const char *failure)
{
    static const struct mg_query query = {
        .key = "figures", .count = 1, .asks = {{.report = MG_REPORT_FIGURES}}, .render = render};
    ck_assert(mg_ask_for_self(fake.asker, &query, on_answered, NULL));
    if (fake_reports.open_count > 0) {
        ck_assert(fake_reports.open[0].report == MG_REPORT_FIGURES && fake_reports.open[0].param_count == 0);
        fake_clock_pass(took_ms);
        fake_report_answer(0, failure == NULL ? &(struct mg_rows){0, 0, NULL} : NULL, failure);
    }
    ck_assert_int_eq(fake_reports.open_count, 0);
}

static void setup(void)
{
    memset(&fake, 0, sizeof(fake));
    fake_reports_reset();
    fake.asker = mg_asker_create(&fake.console);
    ck_assert_ptr_nonnull(fake.asker);
}

static void teardown(void)
{
    mg_asker_destroy(fake.asker);
}

/* Would catch: pages that show the answer of ten minutes ago after a stall of the database, and a database
 * that is read as often as it is slow. */
START_TEST(an_answer_is_kept_for_a_multiple_of_its_duration_up_to_a_limit)
{
    static const struct {
        int64_t took_ms, kept_ms;
    } CASES[] = {{1, 900}, {40, 2000}, {12000, 5000}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int before = fake_reports.asked;
        ask(CASES[i].took_ms, NULL);
        fake_clock.boot_ms += CASES[i].kept_ms - 1;
        ask(0, NULL);
        ck_assert_int_eq(fake_reports.asked, before + 1);
        fake_clock.boot_ms += 1;
        ask(0, NULL);
        ck_assert_int_eq(fake_reports.asked, before + 2);
        fake_clock.boot_ms += 60000;
    }
    ck_assert_int_eq(fake.answers, 9);
}
END_TEST

/* Would catch: a failure that all pages show for as long as it took. */
START_TEST(a_failure_is_not_kept)
{
    ask(2000, "down");
    ck_assert_uint_eq(fake.status, 503);
    ask(1, NULL);
    ck_assert_uint_eq(fake.status, 200);
    ck_assert_int_eq(fake_reports.asked, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("console_ask");
    TCase *tcase = tcase_create("answers");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_answer_is_kept_for_a_multiple_of_its_duration_up_to_a_limit);
    tcase_add_test(tcase, a_failure_is_not_kept);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
