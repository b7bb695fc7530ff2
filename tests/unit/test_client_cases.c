/* The verdicts on a client, from lines and posts that the test writes; the frames and the URL of the relay.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "conformance/client/cases.h"
#include "conformance/client/relay.h"
#include "suite.h"

#define TIMEOUT_MS 10000

static struct mg_client_seen seen[MG_CASE_COUNT];
static struct mg_finding findings[MG_CLIENT_RULE_COUNT];

static void line_add(enum mg_client_case which, const char *text)
{
    ck_assert_msg(mg_client_line_parse(text, &seen[which].lines[seen[which].line_count]), "%s", text);
    seen[which].line_count++;
}

static void setup(void)
{
    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < MG_CASE_COUNT; i++) {
        seen[i] = (struct mg_client_seen){.posts = 1, .has_ended = true};
        snprintf(seen[i].order_id, sizeof(seen[i].order_id), "o-%d", i);
    }
}

static enum mg_keeping judged(enum mg_client_case which)
{
    struct mg_finding *finding = &findings[mg_case_of(which)->rule];
    mg_case_judge(which, &seen[which], TIMEOUT_MS, finding);
    ck_assert(finding->text[0] != '\0');
    return finding->keeping;
}

/* Would catch: a line of a log taken for a status, and a status with further words taken for none. */
START_TEST(a_line_is_a_status_or_none)
{
    static const char *const NONE[] = {
        "",           "o-1",          "o-1 2",          "o-1 2 ",          " o-1 2 processed",
        "o-1 x done", "o-1 -2 error", "o-1 2processed", "E: 0 unroutable", "o-1 9999999999 error"};
    struct mg_client_line line;
    for (size_t i = 0; i < sizeof(NONE) / sizeof(NONE[0]); i++) {
        ck_assert_msg(!mg_client_line_parse(NONE[i], &line), "%s", NONE[i]);
    }
    ck_assert(mg_client_line_parse("o-1  20\tprocessed and more", &line));
    ck_assert_str_eq(line.order_id, "o-1");
    ck_assert_uint_eq(line.seq, 20);
    ck_assert_str_eq(line.status, "processed");
}
END_TEST

static const struct {
    enum mg_client_case which;
    enum mg_keeping keeping;
    const char *lines[5];
} LINES[] = {
    {MG_CASE_PLAIN, MG_KEEPING_KEPT, {"o-0 1 accepted", "o-0 2 processed"}},
    {MG_CASE_PLAIN, MG_KEEPING_BROKEN, {"o-0 2 processed"}},
    {MG_CASE_PLAIN, MG_KEEPING_BROKEN, {"o-0 1 accepted", "o-0 2 compensated"}},
    {MG_CASE_REPEAT, MG_KEEPING_KEPT, {"o-2 1 accepted", "o-2 2 compensating", "o-2 3 compensated"}},
    {MG_CASE_REPEAT,
     MG_KEEPING_BROKEN,
     {"o-2 1 accepted", "o-2 1 accepted", "o-2 2 compensating", "o-2 3 compensated"}},
    {MG_CASE_ORDER, MG_KEEPING_KEPT, {"o-3 2 compensating", "o-3 3 error"}},
    {MG_CASE_ORDER, MG_KEEPING_BROKEN, {"o-3 2 compensating", "o-3 1 accepted", "o-3 3 error"}},
    {MG_CASE_ORDER, MG_KEEPING_BROKEN, {"x-1 1 accepted", "o-3 2 compensating", "o-3 3 error"}},
    {MG_CASE_GAP, MG_KEEPING_BROKEN, {"o-4 1 accepted"}},
    {MG_CASE_FOREIGN, MG_KEEPING_BROKEN, {"x-1 1 cancelled", "o-5 1 accepted", "o-5 2 processed"}},
    {MG_CASE_FOREIGN, MG_KEEPING_BROKEN, {"o-5 1 cancelled", "o-5 1 accepted", "o-5 2 processed"}},
    {MG_CASE_WORD,
     MG_KEEPING_KEPT,
     {"o-8 1 accepted", "o-8 2 resting", "o-8 3 step_completed", "o-8 4 waiting", "o-8 5 processed"}},
    {MG_CASE_WORD, MG_KEEPING_KEPT, {"o-8 1 accepted", "o-8 5 processed"}},
    {MG_CASE_WORD,
     MG_KEEPING_BROKEN,
     {"o-8 1 accepted", "o-8 2 resting", "o-8 3 step_completed", "o-8 4 waiting"}},
    {MG_CASE_REJECTED, MG_KEEPING_KEPT, {"o-9 0 rejected"}},
};

/* Would catch: a verdict without its reason in the lines. */
START_TEST(a_wrong_line_breaks_its_rule)
{
    for (int i = 0; i < 5 && LINES[_i].lines[i] != NULL; i++) {
        line_add(LINES[_i].which, LINES[_i].lines[i]);
    }
    enum mg_keeping keeping = judged(LINES[_i].which);
    ck_assert_msg(keeping == LINES[_i].keeping, "%d: %s", _i,
                  findings[mg_case_of(LINES[_i].which)->rule].text);
}
END_TEST

START_TEST(a_run_without_an_order_shows_nothing)
{
    seen[MG_CASE_GAP].posts = 0;
    ck_assert_int_eq(judged(MG_CASE_GAP), MG_KEEPING_NOT_SHOWN);
    seen[MG_CASE_CUT].posts = 0;
    ck_assert_int_eq(judged(MG_CASE_CUT), MG_KEEPING_NOT_SHOWN);
}
END_TEST

/* Would catch: a client that takes a refused post for an order. */
START_TEST(a_refused_post_is_no_order)
{
    struct mg_client_seen *refused = &seen[MG_CASE_REFUSED];
    refused->posts = 0;
    ck_assert_int_eq(judged(MG_CASE_REFUSED), MG_KEEPING_BROKEN); /* exit code 0 */
    refused->exit_code = 1;
    ck_assert_int_eq(judged(MG_CASE_REFUSED), MG_KEEPING_KEPT);
    refused->has_ended = false;
    ck_assert_int_eq(judged(MG_CASE_REFUSED), MG_KEEPING_BROKEN);
    refused->has_ended = true;
    refused->posts = 1;
    ck_assert_int_eq(judged(MG_CASE_REFUSED), MG_KEEPING_BROKEN);
    line_add(MG_CASE_REFUSED, "o-10 2 processed");
    ck_assert_int_eq(judged(MG_CASE_REFUSED), MG_KEEPING_KEPT);
}
END_TEST

START_TEST(a_post_again_has_the_same_id_and_bytes)
{
    struct mg_client_seen *lost = &seen[MG_CASE_CONFIRM_LOST];
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_SAME_BYTES].keeping, MG_KEEPING_NOT_SHOWN);
    ck_assert_int_eq(judged(MG_CASE_CONFIRM_LOST), MG_KEEPING_BROKEN);
    lost->posts = 2;
    line_add(MG_CASE_CONFIRM_LOST, "o-12 2 processed");
    ck_assert_int_eq(judged(MG_CASE_CONFIRM_LOST), MG_KEEPING_KEPT);
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_SAME_BYTES].keeping, MG_KEEPING_KEPT);
    lost->has_other_bytes = true;
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_SAME_BYTES].keeping, MG_KEEPING_BROKEN);
    lost->has_other_order = true;
    ck_assert_int_eq(judged(MG_CASE_CONFIRM_LOST), MG_KEEPING_BROKEN);
}
END_TEST

START_TEST(two_orders_have_two_ids)
{
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_NEW_ID].keeping, MG_KEEPING_KEPT);
    snprintf(seen[3].order_id, sizeof(seen[3].order_id), "o-1");
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_NEW_ID].keeping, MG_KEEPING_BROKEN);
}
END_TEST

START_TEST(a_program_ends_after_its_order)
{
    struct mg_client_seen *plain = &seen[MG_CASE_PLAIN];
    plain->has_ended = false;
    mg_cases_judge(seen, findings); /* its order has not ended */
    ck_assert_int_eq(findings[MG_CLIENT_ENDS].keeping, MG_KEEPING_NOT_SHOWN);
    line_add(MG_CASE_PLAIN, "o-0 1 accepted");
    line_add(MG_CASE_PLAIN, "o-0 2 processed");
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_ENDS].keeping, MG_KEEPING_BROKEN);
    plain->has_ended = true;
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_ENDS].keeping, MG_KEEPING_KEPT);
    plain->exit_code = 1;
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_ENDS].keeping, MG_KEEPING_BROKEN);
}
END_TEST

static const struct {
    enum mg_client_case which;
    const char *lines[5];
} ENDS[] = {
    {MG_CASE_PLAIN, {"o-0 1 accepted", "o-0 2 processed"}},
    {MG_CASE_REPEAT, {"o-2 1 accepted", "o-2 2 compensating", "o-2 3 compensated"}},
    {MG_CASE_ORDER, {"o-3 2 compensating", "o-3 3 error"}},
    {MG_CASE_GAP, {"o-4 1 accepted", "o-4 3 cancelled"}},
    {MG_CASE_WORD, {"o-8 1 accepted", "o-8 3 step_completed", "o-8 4 waiting", "o-8 5 processed"}},
};

/* Would catch: a program that goes on after one of the ends, where no case has that end. */
START_TEST(a_program_ends_after_each_end)
{
    struct mg_client_seen *run = &seen[ENDS[_i].which];
    for (int i = 0; i < 5 && ENDS[_i].lines[i] != NULL; i++) {
        line_add(ENDS[_i].which, ENDS[_i].lines[i]);
    }
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_ENDS].keeping, MG_KEEPING_KEPT);
    run->has_ended = false;
    mg_cases_judge(seen, findings);
    ck_assert_int_eq(findings[MG_CLIENT_ENDS].keeping, MG_KEEPING_BROKEN);
    ck_assert_int_eq(judged(ENDS[_i].which), MG_KEEPING_KEPT);
}
END_TEST

/* ---- frames ---- */

static uint8_t publish[] = {1,   0,   7,   0,   0,   0,   24,  0,   60,  0,   40,  0,   0,   0, 13,
                            'o', 'r', 'd', 'e', 'r', 's', '.', 'i', 'n', 't', 'a', 'k', 'e', 1, 0xCE};
static uint8_t header[] = {2, 0, 7, 0, 0,    0, 23, 0,   60,  0,   0, 0, 0,   0,   0,
                           0, 0, 0, 9, 0x91, 0, 3,  'a', '/', 'b', 2, 2, '1', '0', 0xCE};

/* Would catch: a cut frame that is taken for a whole one, and properties that are read from the wrong place.
 */
START_TEST(a_post_is_read_from_its_frames)
{
    struct mg_frame frame;
    struct mg_posted posted;
    uint8_t *key = NULL;
    size_t key_len = 0;
    publish[6] = sizeof(publish) - 8;
    header[6] = sizeof(header) - 8;
    for (size_t len = 0; len < sizeof(publish); len++) {
        ck_assert_int_eq(mg_frame_next(publish, len, &frame), 0);
    }
    ck_assert_int_eq(mg_frame_next(publish, sizeof(publish), &frame), sizeof(publish));
    ck_assert_uint_eq(frame.method, MG_FRAME_PUBLISH);
    ck_assert_uint_eq(frame.channel, 7);
    ck_assert(mg_frame_read_publish(&frame, &posted, &key, &key_len));
    ck_assert(posted.is_mandatory && key_len == 13 && memcmp(key, "orders.intake", key_len) == 0);
    frame.payload_len--;
    ck_assert(!mg_frame_read_publish(&frame, &posted, &key, &key_len));

    ck_assert_int_eq(mg_frame_next(header, sizeof(header), &frame), sizeof(header));
    ck_assert(mg_frame_read_header(&frame, &posted));
    ck_assert_str_eq(posted.content_type, "a/b");
    ck_assert(posted.is_persistent && posted.has_expiration);
    mg_posted_judge(&posted, true, findings);
    ck_assert_int_eq(findings[MG_CLIENT_FORM].keeping, MG_KEEPING_BROKEN);
    ck_assert_int_eq(findings[MG_CLIENT_PERSISTENT].keeping, MG_KEEPING_BROKEN);
    ck_assert_int_eq(findings[MG_CLIENT_MANDATORY].keeping, MG_KEEPING_KEPT);
    for (frame.payload_len = 0; frame.payload_len < 19; frame.payload_len++) {
        ck_assert(!mg_frame_read_header(&frame, &posted));
    }
}
END_TEST

START_TEST(bytes_that_are_no_frame_are_refused)
{
    uint8_t greeting[] = "AMQP\0\0\x09\x01", large[] = {1, 0, 0, 0xFF, 0, 0, 0},
            open[] = {8, 0, 0, 0, 0, 0, 0, 0};
    struct mg_frame frame;
    ck_assert_int_eq(mg_frame_next(greeting, 8, &frame), 8);
    ck_assert_int_eq(frame.type, MG_FRAME_GREETING);
    ck_assert_int_eq(mg_frame_next(large, sizeof(large), &frame), -1);
    ck_assert_int_eq(mg_frame_next(open, sizeof(open), &frame), -1);
}
END_TEST

static const struct {
    const char *url, *host, *port, *made; /* made NULL: refused */
} URLS[] = {
    {"amqp://u:p@broker:5673/v%2F?heartbeat=5", "broker", "5673", "amqp://u:p@127.0.0.1:99/v%2F?heartbeat=5"},
    {"amqp://broker", "broker", "5672", "amqp://127.0.0.1:99"},
    {"amqp://", "localhost", "5672", "amqp://127.0.0.1:99"},
    {"amqp://u@[::1]:1/", "::1", "1", "amqp://u@127.0.0.1:99/"},
    {"amqps://broker", NULL, NULL, NULL},
    {"amqp://broker:123456789/", NULL, NULL, NULL},
};

START_TEST(the_relay_stands_in_the_url_of_the_broker)
{
    char host[256], port[8], made[MG_RELAY_URL_SIZE];
    bool is_made = mg_relay_url_make(URLS[_i].url, 99, host, port, made);
    ck_assert_msg(is_made == (URLS[_i].made != NULL), "%s", URLS[_i].url);
    if (is_made) {
        ck_assert_str_eq(host, URLS[_i].host);
        ck_assert_str_eq(port, URLS[_i].port);
        ck_assert_str_eq(made, URLS[_i].made);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client cases");
    TCase *tests = tcase_create("client cases");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, a_line_is_a_status_or_none);
    tcase_add_loop_test(tests, a_wrong_line_breaks_its_rule, 0, (int)(sizeof(LINES) / sizeof(LINES[0])));
    tcase_add_test(tests, a_run_without_an_order_shows_nothing);
    tcase_add_test(tests, a_refused_post_is_no_order);
    tcase_add_test(tests, a_post_again_has_the_same_id_and_bytes);
    tcase_add_test(tests, two_orders_have_two_ids);
    tcase_add_test(tests, a_program_ends_after_its_order);
    tcase_add_loop_test(tests, a_program_ends_after_each_end, 0, (int)(sizeof(ENDS) / sizeof(ENDS[0])));
    tcase_add_test(tests, a_post_is_read_from_its_frames);
    tcase_add_test(tests, bytes_that_are_no_frame_are_refused);
    tcase_add_loop_test(tests, the_relay_stands_in_the_url_of_the_broker, 0,
                        (int)(sizeof(URLS) / sizeof(URLS[0])));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
