/* The numbers of each minute: calls of services, orders that are accepted and end. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "io/store/minutes.h"
#include "store_fixture.h"

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "TRUNCATE process_state; UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
}

static void teardown(void)
{
    rig_finish(&rig);
}

static void report(enum mg_report which, const char *param)
{
    (void)rig_report(&rig, which, (const char *[]){param}, param != NULL ? 1 : 0);
}

static void count_as(uint64_t epoch)
{
    mg_store_count_minutes(rig.store, epoch, "me", rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* The quick ones take 9 to 10 ms, the slow ones 120 to 128 ms. One in all is refused. */
#define ZEROS "0,0,0,0,0,0,0,0,0,"
#define CALLS(count, failed, quick, slow)                                                                    \
    "{\"count\":" count ",\"failed\":" failed ",\"within\":[0,0,0," quick ",0,0,0," slow ",0,0,0,0,0,0,0],"  \
    "\"refused\":1,\"durations\":[" ZEROS quick "," ZEROS ZEROS ZEROS "0,0," slow ",0]"
/* An agent of schema 44. */
#define OLD_CALLS(count)                                                                                     \
    "{\"count\":" count ",\"failed\":0,\"within\":[0,0,0," count ",0,0,0,0,0,0,0,0,0,0,0]}"

/* `calls` NULL: an agent of an older version. */
static void report_put(const char *service, const char *instance, uint64_t process, const char *calls)
{
    static uint64_t sequence;
    const struct mg_service_state state = {.service = service,
                                           .instance = instance,
                                           .breaker = "closed",
                                           .is_ready = true,
                                           .reason = "",
                                           .process = process,
                                           .sequence = ++sequence,
                                           .calls =
                                               calls != NULL ? mg_slice_of(calls) : (struct mg_slice){0}};
    mg_store_put_service_states(rig.store, &state, 1, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

static const char *counts_of(const char *subject)
{
    char sql[256];
    snprintf(sql, sizeof(sql),
             "SELECT coalesce((SELECT sum(counts[1]) || ' ' || sum(counts[2]) || ' ' || sum(counts[3])"
             " FROM minute_count WHERE subject = '%s'), 'none')",
             subject);
    return rig_value(&rig, sql);
}

/* Would catch: calls of two agents that replace each other, calls that count twice, and all calls of a
 * process's life in the minute in which it is first seen. */
START_TEST(calls_since_the_last_count_are_added)
{
    report_put("payment", "a", 1, CALLS("100", "5", "95", "5") "}");
    report_put("payment", "b", 1, CALLS("10", "0", "10", "0") "}");
    report_put("carrier", "c", 1, NULL);
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "none");
    report_put("payment", "a", 1, CALLS("120", "15", "105", "15") "}");
    report_put("payment", "b", 1, CALLS("13", "0", "13", "0") "}");
    count_as(7);
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "23 10 0");
    report_put("payment", "a", 2, CALLS("4", "4", "4", "0") "}"); /* it began anew */
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "23 10 0");
    report_put("payment", "a", 2, CALLS("5", "4", "5", "0") "}");
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "24 10 0");
    report_put("payment", "a", (uint64_t)mg_clock_wall_ms(), CALLS("6", "1", "6", "0") "}"); /* moments ago */
    count_as(7);
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "30 11 0");
    ck_assert_str_eq(counts_of("carrier"), "none");
}
END_TEST

/* Law 9, one leader. Would catch: two supervisors that count the same calls. */
START_TEST(a_former_leader_counts_nothing)
{
    report_put("payment", "a", 1, CALLS("100", "5", "95", "5") "}");
    count_as(7);
    report_put("payment", "a", 1, CALLS("110", "5", "105", "5") "}");
    count_as(6);
    ck_assert_str_eq(counts_of("payment"), "none");
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "10 0 0");
}
END_TEST

/* Would catch: tables that grow for ever. */
START_TEST(minutes_are_kept_for_an_hour)
{
    rig_admin(
        &rig,
        "INSERT INTO minute_count (subject, minute, counts) SELECT 'payment', date_trunc('minute', clock_timestamp())"
        "  - n * interval '1 minute', '{1,0,0}' FROM generate_series(0, 200) n;"
        "INSERT INTO counted_process VALUES"
        " ('payment', 'old', 1, '{1}', clock_timestamp() - interval '2 hours'),"
        " ('payment', 'new', 1, '{1}', clock_timestamp())");
    count_as(7);
    const char *left = counts_of("payment");
    ck_assert_msg(strcmp(left, "61 0 0") == 0 || strcmp(left, "60 0 0") == 0, "%s",
                  left); /* a minute may end */
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(instance, ' ') FROM counted_process"), "new");
}
END_TEST

static void beat(const char *instance, int64_t accepted, int64_t ended, int64_t failed)
{
    const struct mg_beat beat = {.kind = "scheduler",
                                 .age_ms = 60000,
                                 .instance = instance,
                                 .has_orders = accepted >= 0,
                                 .accepted = accepted,
                                 .ended = ended,
                                 .failed = failed};
    mg_store_beat(rig.store, &beat, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

START_TEST(orders_that_schedulers_accept_and_end_are_added)
{
    beat("s-1", 10, 8, 1);
    beat("s-2", 100, 90, 0);
    beat("s-3", -1, 0, 0);
    count_as(7);
    beat("s-1", 15, 12, 2);
    beat("s-2", 101, 90, 0);
    count_as(7);
    ck_assert_str_eq(counts_of(""), "6 4 1");
    report(MG_REPORT_ORDER_MINUTES, NULL);
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(rig.text, "accepted=[0, 0, 0, ");
    rig_admin(&rig, "TRUNCATE process_state");
}
END_TEST

/* The counts of a minute, with the calls of each bucket as an expression of its number `n`. */
#define COUNTS(calls)                                                                                        \
    "array_fill(0::bigint, ARRAY[18]) || (SELECT array_agg((" calls ")::bigint ORDER BY n)"                  \
    " FROM generate_series(1, 112) n)"

static const char *quantile_of(const char *share, const char *counts)
{
    char sql[512];
    snprintf(sql, sizeof(sql), "SELECT coalesce(makegood_call_ms(%s, %s)::text, 'none')", counts, share);
    return rig_value(&rig, sql);
}

/* Would catch: a quantile of the wrong bucket, and one of no call; 2 s that are reported as 2.4 s. */
START_TEST(quantiles_are_read_from_the_buckets)
{
    static const char TWO_SECONDS[] = COUNTS("CASE n WHEN 72 THEN 24 ELSE 0 END"),
                      MIXED[] = COUNTS("CASE n WHEN 1 THEN 90 WHEN 112 THEN 10 ELSE 0 END");
    ck_assert_str_eq(quantile_of("0.5", TWO_SECONDS), "1984");
    ck_assert_str_eq(quantile_of("0.95", TWO_SECONDS), "2042");
    ck_assert_str_eq(quantile_of("0.5", MIXED), "1");
    ck_assert_str_eq(quantile_of("0.95", MIXED), "63488");
    ck_assert_str_eq(quantile_of("0.95", COUNTS("0")), "none");
    ck_assert_str_eq(quantile_of("0.95", "'{100,0,90,0,0,0,0,0,0,0,0,0,10,0,0,0,0}'"), "none");
    ck_assert_str_eq(rig_value(&rig, "SELECT coalesce(makegood_call_ms(NULL, 0.5)::text, 'none')"), "none");
}
END_TEST

/* Minutes of the service, from `first` to `last` ago. */
static void minutes_insert(int first, int last, const char *counts)
{
    char sql[512];
    snprintf(sql, sizeof(sql),
             "INSERT INTO minute_count (subject, minute, counts) SELECT 'payment',"
             " date_trunc('minute', clock_timestamp()) - m * interval '1 minute', %s"
             " FROM generate_series(%d, %d) m",
             counts, first, last);
    rig_admin(&rig, sql);
}

/* Would catch: a slow service that looks as any other, or is slow without a beginning; one that is slow
 * although it always takes so long. */
START_TEST(a_slow_service_has_a_beginning)
{
    static const char SLOW[] = COUNTS("CASE n WHEN 72 THEN 1 ELSE 0 END"),
                      QUICK[] = COUNTS("CASE n WHEN 10 THEN 1 ELSE 0 END");
    report_put("payment", "a", 1, NULL);
    minutes_insert(6, 30, QUICK);
    minutes_insert(5, 5, SLOW); /* once, and it was over */
    minutes_insert(4, 4, QUICK);
    minutes_insert(0, 2, SLOW);
    report(MG_REPORT_CONTROLLED, NULL);
    assert_has(rig.text, " p95_ms=2042 usual_ms=10 slow_since=2");
    const char *since = rig_value(&rig, "SELECT to_char(minute AT TIME ZONE 'UTC', 'HH24:MI:00.000') FROM"
                                        " minute_count ORDER BY minute DESC OFFSET 2 LIMIT 1");
    assert_has(rig.text, since);
    rig_admin(&rig, "DELETE FROM minute_count WHERE minute > clock_timestamp() - interval '3 minutes 30 s'");
    minutes_insert(0, 2, QUICK);
    report(MG_REPORT_CONTROLLED, NULL);
    assert_has(rig.text, " p95_ms=10 usual_ms=10 slow_since=-");
    rig_admin(&rig, "DELETE FROM minute_count");
    minutes_insert(0, 30, SLOW);
    report(MG_REPORT_CONTROLLED, NULL);
    assert_has(rig.text, " p95_ms=2042 usual_ms=2042 slow_since=-");
}
END_TEST

/* Would catch: an older agent, next to a newer one, whose calls are lost or spoil the durations. */
START_TEST(calls_of_an_older_agent_count_without_durations)
{
    report_put("payment", "old", 1, OLD_CALLS("100"));
    report_put("payment", "new", 1, CALLS("10", "0", "10", "0") "}");
    count_as(7);
    report_put("payment", "old", 1, OLD_CALLS("103"));
    report_put("payment", "new", 1, CALLS("14", "0", "14", "0") "}");
    count_as(7);
    ck_assert_str_eq(counts_of("payment"), "7 0 0");
    ck_assert_str_eq(rig_value(&rig, "SELECT makegood_call_ms(counts, 1) FROM minute_count"), "10");
}
END_TEST

/* Would catch: an outage without a beginning and an answer; an older agent that seems to answer quickly. */
START_TEST(an_outage_has_a_beginning_and_an_answer)
{
    report_put("payment", "a", 1, CALLS("100", "0", "100", "0") "}");
    report_put("carrier", "c", 1, NULL);
    count_as(7);
    report_put("payment", "a", 1,
               CALLS("140", "20", "120", "20") ",\"failing_since\":\"2026-01-31T12:34:56.789Z\","
                                               "\"probe_at\":\"2026-01-31T12:35:10.000Z\","
                                               "\"error\":{\"code\":\"http_503/MAINTENANCE\","
                                               "\"text\":\"we are updating\","
                                               "\"at\":\"2026-01-31T12:35:00.000Z\"}}");
    count_as(7);
    report(MG_REPORT_CONTROLLED, NULL);
    ck_assert_int_eq(rig.row_count, 2);
    assert_has(
        rig.text,
        "service=carrier state=serving since=- since_ms=- calls_per_s=- p50_ms=- p95_ms=- usual_ms=- "
        "slow_since=- failed_percent=- refused_percent=- error_code=- error_text=- error_at=- probe_at=- waiting=0");
    report(MG_REPORT_SERVICE_MINUTES, "payment");
    assert_has(rig.text, "service=payment calls=[0, ");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM minute_count WHERE subject = 'payment'"), "1");
    rig_admin(&rig, "DELETE FROM service_state WHERE service = 'carrier'");
    report(MG_REPORT_CONTROLLED, NULL);
    assert_has(rig.text, "service=payment state=serving since=2026-01-31T12:34:56.789Z since_ms=");
    assert_has(
        rig.text,
        " p50_ms=10 p95_ms=128 usual_ms=- slow_since=- failed_percent=50 refused_percent=0 error_code=http_503/MAINTENANCE "
        "error_text=we are updating error_at=2026-01-31T12:35:00.000Z "
        "probe_at=2026-01-31T12:35:10.000Z waiting=0");
    report_put("payment", "b", 1, CALLS("7", "0", "7", "0") "}"); /* another agent gets answers */
    report(MG_REPORT_CONTROLLED, NULL);
    assert_has(rig.text, "service=payment state=serving since=- ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_minutes");
    TCase *test = tcase_create("minutes");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, calls_since_the_last_count_are_added);
    tcase_add_test(test, a_former_leader_counts_nothing);
    tcase_add_test(test, minutes_are_kept_for_an_hour);
    tcase_add_test(test, orders_that_schedulers_accept_and_end_are_added);
    tcase_add_test(test, quantiles_are_read_from_the_buckets);
    tcase_add_test(test, a_slow_service_has_a_beginning);
    tcase_add_test(test, calls_of_an_older_agent_count_without_durations);
    tcase_add_test(test, an_outage_has_a_beginning_and_an_answer);
    suite_add_tcase(suite, test);
    return store_main(suite, "minutes");
}
