/* Operators' actions: every action is recorded first, and only the intended action is done. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/id.h"
#include "io/amqp/topology.h"
#include "world.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define ORDER(verb) "/api/v1/orders/" ORDER_ID "/" verb
#define RESUME_BODY "{\"reason\": \"the card is good again\", \"version\": 7}"
#define ACK_BODY    "{\"reason\": \"I look at it\"}"
#define DROP_BODY   "{\"reason\": \"it is old\", \"queue\": \"dead.letters\", \"mark\": \"00ff\"}"
#define BULK_BODY(more)                                                                                           \
    "{\"reason\": \"mended\", \"verb\": \"resume\", \"workflow\": \"pay\", \"orders\": 3, \"ticket\": \"t\"" more \
    "}"

static struct fake_browser otto;
static const struct mg_err trouble = {.text = "the database is away"};

static void set_up(void)
{
    fake_begin();
    otto = fake_login(TOKEN_OPERATOR);
    fake_log.lines = 0;
}

/* A request of the operator's own page. */
static struct mg_http_exchange change(const char *path, const char *body)
{
    struct mg_http_exchange request = fake_post(path, body);
    fake_use(&request, &otto);
    return request;
}

static void *question_take(enum fake_question question)
{
    ck_assert_int_eq(fake.question, question);
    fake.question = FAKE_NOTHING;
    return fake.arg;
}

static void answer_note(const struct mg_err *err)
{
    void *arg = question_take(FAKE_NOTE);
    fake.noted(arg, err);
}

static void answer_command(const struct mg_command_result *result)
{
    void *arg = question_take(FAKE_COMMAND);
    fake.commanded(arg, result);
}

static void assert_answer(const struct mg_http_exchange *request, unsigned int status, const char *text)
{
    ck_assert_msg(request->status == status && strstr(request->text, text) != NULL, "%s: %u %s, not %u %s",
                  request->path, request->status, request->text, status, text);
}

/* ---- recorded first ---- */

#define BODY(more) "{\"reason\": \"the card is good again\", \"version\": 7" more "}"

static const struct {
    const char *path, *body, *verb, *subject, *detail;
} NOTED[] = {
    {ORDER("resume"), RESUME_BODY, "order resume", ORDER_ID, "{\"via\": \"console\", \"version\": 7}"},
    {ORDER("restart"), RESUME_BODY, "order restart", ORDER_ID, "{\"via\": \"console\", \"version\": 7}"},
    {ORDER("compensate"), RESUME_BODY, "order compensate", ORDER_ID,
     "{\"via\": \"console\", \"version\": 7}"},
    {ORDER("release"), RESUME_BODY, "order release", ORDER_ID, "{\"via\": \"console\", \"version\": 7}"},
    {ORDER("cancel"), RESUME_BODY, "order cancel", ORDER_ID, "{\"via\": \"console\", \"version\": 7}"},
    {ORDER("settle"), BODY(", \"step\": \"charge\", \"outcome\": \"absent\""), "order settle", ORDER_ID,
     "{\"via\": \"console\", \"version\": 7, \"step\": \"charge\", \"outcome\": \"absent\"}"},
    {ORDER("skip"), BODY(", \"step\": \"charge\""), "order skip", ORDER_ID,
     "{\"via\": \"console\", \"version\": 7, \"step\": \"charge\"}"},
    {ORDER("resume"), BODY(", \"set\": \"{\\\"/card\\\": 1.50}\""), "order resume", ORDER_ID,
     "{\"via\": \"console\", \"version\": 7, \"set\": [{\"pointer\": \"/card\"}]}"},
    {"/api/v1/dead/drop", DROP_BODY, "dead drop", "00ff",
     "{\"via\": \"console\", \"queue\": \"dead.letters\"}"},
    {"/api/v1/dead/requeue", DROP_BODY, "dead requeue", "00ff",
     "{\"via\": \"console\", \"queue\": \"dead.letters\"}"},
};

/* A detail without the command's id, which is another each time. */
static const char *without_command(const char *detail)
{
    static char text[1024];
    const char *at = strstr(detail, ", \"command\": \"");
    const char *after = at != NULL ? strchr(at + strlen(", \"command\": \""), '"') + 1 : detail;
    (void)snprintf(text, sizeof(text), "%.*s%s", at != NULL ? (int)(at - detail) : 0, detail, after);
    return text;
}

/* Would catch: a change without a record of its author and reason. */
START_TEST(a_change_that_cannot_be_recorded_is_not_made)
{
    for (size_t i = 0; i < COUNT(NOTED); i++) {
        struct mg_http_exchange request = change(NOTED[i].path, NOTED[i].body);
        ck_assert_uint_eq(fake_send(&request), 0);
        ck_assert_str_eq(fake.by, "otto");
        ck_assert_str_eq(fake.verb, NOTED[i].verb);
        ck_assert_str_eq(fake.subject, NOTED[i].subject);
        ck_assert_str_eq(without_command(fake.detail), NOTED[i].detail);
        answer_note(&trouble);
        assert_answer(&request, 503, "no change was made");
        ck_assert_ptr_nonnull(strstr(request.text, trouble.text));
    }
    ck_assert_int_eq(fake.asked, (int)COUNT(NOTED)); /* the notes, and no command after them */
    ck_assert_int_eq(fake.settled, 0);
    ck_assert_int_eq(fake_log.lines, (int)COUNT(NOTED)); /* one log line each */
}
END_TEST

/* Would catch: a command that differs from its note. */
START_TEST(recorded_changes_equal_the_changes_made)
{
    static const enum mg_cause_kind kinds[] = {MG_CAUSE_RESUME, MG_CAUSE_RESTART, MG_CAUSE_COMPENSATE,
                                               MG_CAUSE_RELEASE, MG_CAUSE_CANCEL};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct mg_http_exchange request = change(NOTED[i].path, NOTED[i].body);
        (void)fake_send(&request);
        answer_note(NULL);
        ck_assert_int_eq(fake.command.kind, kinds[i]);
        ck_assert_str_eq(fake.command.order_id, ORDER_ID);
        ck_assert_uint_eq(fake.command.version, 7);
        ck_assert_str_eq(fake.command.by, "otto");
        ck_assert_str_eq(fake.command.reason, "the card is good again");
        answer_command(NULL);
    }
    struct mg_http_exchange request = change("/api/v1/alerts/12/ack", ACK_BODY);
    (void)fake_send(&request);
    fake.acked(question_take(FAKE_ACK), 1, NULL);
    ck_assert_int_eq(fake.alert_id, 12);
    ck_assert_str_eq(fake.by, "otto");
    ck_assert_str_eq(fake.reason, "I look at it");
    for (int is_drop = 0; is_drop < 2; is_drop++) {
        fake.question = FAKE_NOTHING;
        request = change(is_drop ? "/api/v1/dead/drop" : "/api/v1/dead/requeue", DROP_BODY);
        (void)fake_send(&request);
        fake.reason[0] = '\0';
        answer_note(NULL);
        ck_assert_int_eq(fake.settled, 1 + is_drop);
        ck_assert_int_eq(fake.dead.is_drop, is_drop);
        ck_assert_str_eq(fake.queue, MG_QUEUE_DEAD);
        ck_assert_str_eq(fake.mark, "00ff");
        ck_assert_str_eq(fake.reason, "it is old");
    }
}
END_TEST

/* ---- orders ---- */

/* Would catch: a page that shows a refused change as done, or a change that may still happen as refused. */
START_TEST(a_page_receives_what_became_of_its_command)
{
    static const struct {
        enum mg_command_verdict verdict;
        unsigned int status;
        const char *text;
    } answers[] = {{MG_COMMAND_DONE, 200, "the order is processing"},
                   {MG_COMMAND_CONFLICT, 409, "conflict: it is at version 9"},
                   {MG_COMMAND_NOT_FOUND, 404, "not_found: it is at version 9"},
                   {MG_COMMAND_INVALID, 400, "invalid: it is at version 9"}};
    struct mg_http_exchange request;
    for (size_t i = 0; i < COUNT(answers); i++) {
        request = change(ORDER("resume"), RESUME_BODY);
        (void)fake_send(&request);
        answer_note(NULL);
        int forgotten = fake.forgotten;
        const struct mg_command_result result = {
            .verdict = answers[i].verdict, .state = MG_ORDER_PROCESSING, .text = "it is at version 9"};
        answer_command(&result);
        assert_answer(&request, answers[i].status, answers[i].text);
        ck_assert_int_eq(fake.forgotten, forgotten + 1); /* no page shows the state of before */
    }
    request = change(ORDER("resume"), RESUME_BODY);
    (void)fake_send(&request);
    answer_note(NULL);
    answer_command(NULL);
    assert_answer(&request, 202, "may still be carried out");
    fake.has_room = false;
    request = change(ORDER("resume"), RESUME_BODY);
    (void)fake_send(&request);
    answer_note(NULL);
    assert_answer(&request, 503, "too many commands");
}
END_TEST

/* Would catch: a note of a change that could not have been tried. */
START_TEST(without_a_broker_no_order_is_changed_and_nothing_is_noted)
{
    fake.is_broker_up = false;
    struct mg_http_exchange request = change(ORDER("resume"), RESUME_BODY);
    (void)fake_send(&request);
    assert_answer(&request, 503, "could not reach the broker: it is away");
    ck_assert_str_eq(request.retry_after, "1");
    ck_assert_int_eq(fake.asked, 0);
    request = change("/api/v1/alerts/12/ack", ACK_BODY); /* for which it is not needed */
    ck_assert_uint_eq(fake_send(&request), 0);
}
END_TEST

static void command_id_of(const struct fake_browser *browser, const char *path, const char *body,
                          char ret_command_id[MG_UUID_SIZE])
{
    struct mg_http_exchange request = fake_post(path, body);
    fake_use(&request, browser);
    (void)fake_send(&request);
    answer_note(NULL);
    memcpy(ret_command_id, fake.command.command_id, MG_UUID_SIZE);
    answer_command(NULL);
}

/* Would catch: a second click that changes twice; a page that names another person's command. */
START_TEST(a_click_is_one_command_of_one_person_for_one_change)
{
#define CLICK(version) "{\"reason\": \"mended\", \"version\": " version ", \"command_id\": \"" BULK_ID "\"}"
    char lines[LINES_SIZE], first[MG_UUID_SIZE], ids[6][MG_UUID_SIZE];
    struct mg_err err;
    (void)fake_line(lines, fake_line(lines, 0, "operator", "otto", TOKEN_OPERATOR), "operator", "anna",
                    "anna's");
    fake_write_tokens(lines);
    ck_assert_int_eq(fake_reload(&err), MG_OK);
    const struct fake_browser anna = fake_login("anna's");
    command_id_of(&otto, ORDER("resume"), CLICK("7"), first);
    command_id_of(&otto, ORDER("resume"), CLICK("7"), ids[0]);
    ck_assert_str_eq(first, ids[0]);
    command_id_of(&anna, ORDER("resume"), CLICK("7"), ids[0]);
    command_id_of(&otto, ORDER("cancel"), CLICK("7"), ids[1]);
    command_id_of(&otto, ORDER("resume"), CLICK("8"), ids[2]);
    command_id_of(&otto, "/api/v1/orders/another/resume", CLICK("7"), ids[3]);
    command_id_of(&otto, ORDER("resume"), RESUME_BODY, ids[4]); /* no click: each its own */
    command_id_of(&otto, ORDER("resume"), RESUME_BODY, ids[5]);
    for (size_t i = 0; i < COUNT(ids); i++) {
        ck_assert_msg(mg_uuid_is_valid(ids[i]), "%s", ids[i]);
        ck_assert_str_ne(ids[i], first);
        ck_assert_str_ne(ids[i], BULK_ID); /* the page's name for a click is never the id itself */
        ck_assert_msg(i == 0 || strcmp(ids[i], ids[i - 1]) != 0, "%zu", i);
    }
}
END_TEST

/* ---- the page of a change is gone ---- */

/* Would catch: a change that is dropped half-way with its page; an answer to a browser that is gone. */
START_TEST(a_change_continues_after_its_page_is_gone)
{
    struct mg_http_exchange request = change(ORDER("resume"), RESUME_BODY);
    (void)fake_send(&request);
    fake_go(&request);
    answer_note(NULL);
    ck_assert_uint_eq(fake.command.version, 7);
    const struct mg_command_result result = {.verdict = MG_COMMAND_DONE};
    answer_command(&result);
    ck_assert_uint_eq(request.status, 0);
    request = change("/api/v1/dead/drop", DROP_BODY);
    (void)fake_send(&request);
    fake_go(&request);
    answer_note(NULL);
    ck_assert_int_eq(fake.settled, 1);
    request = change(ORDER("resume"), RESUME_BODY);
    (void)fake_send(&request);
    fake_go(&request);
    answer_note(&trouble);
    ck_assert_uint_eq(request.status, 0);
    ck_assert(LIST_EMPTY(&fake.console.changes));
}
END_TEST

/* ---- services, alerts, bulk actions: the store's answers ---- */

/* Would catch: a newer setting of another operator that is overwritten in silence; a failure that looks like
 * success. */
START_TEST(a_page_receives_what_the_store_answers)
{
    static const unsigned int statuses[] = {
        [MG_CHANGE_DONE] = 200, [MG_CHANGE_CONFLICT] = 409, [MG_CHANGE_NOT_FOUND] = 404};
    struct mg_http_exchange request;
    for (size_t i = 0; i <= COUNT(statuses); i++) {
        const struct mg_err *err = i == COUNT(statuses) ? &trouble : NULL;
        unsigned int status = err != NULL ? 503 : statuses[i];
        request = change("/api/v1/services/payment/pause", RESUME_BODY);
        (void)fake_send(&request);
        void *arg = question_take(FAKE_SETTING);
        ck_assert_uint_eq(fake.setting.version, 7);
        fake.setting_put(arg, (enum mg_change_result)i, 8, err);
        assert_answer(&request, status, err != NULL ? trouble.text : "");
        request = change("/api/v1/bulk/" BULK_ID "/stop", RESUME_BODY);
        (void)fake_send(&request);
        arg = question_take(FAKE_BULK);
        ck_assert_int_eq(fake.bulk_change.wish, MG_BULK_WISH_STOP);
        ck_assert_uint_eq(fake.bulk_change.version, 7);
        ck_assert_str_eq(fake.bulk_id, BULK_ID);
        fake.bulk_changed(arg, (enum mg_change_result)i, 8, err);
        assert_answer(&request, status, err != NULL ? trouble.text : "");
    }
    for (int i = 0; i < 3; i++) {
        request = change("/api/v1/alerts/12/ack", ACK_BODY);
        (void)fake_send(&request);
        void *arg = question_take(FAKE_ACK);
        ck_assert_str_eq(fake.by, "otto");
        fake.acked(arg, i == 0 ? 2 : 0, i == 2 ? &trouble : NULL);
        assert_answer(&request, i == 0 ? 200 : i == 1 ? 409 : 503, "");
    }
}
END_TEST

/* Would catch: a resumed schedule without its next slots, a run under another order's id, a change that
 * overwrites another. */
START_TEST(a_schedule_is_paused_resumed_and_run)
{
    const struct mg_slot_row row = {
        .is_found = true,
        .definition = mg_slice_of("{\"schedule\":\"nightly\",\"workflow\":\"w\",\"every\":\"10s\"}"),
        .now_ms = 7000};
    struct mg_http_exchange request = change("/api/v1/schedules/nightly/pause", RESUME_BODY);
    (void)fake_send(&request);
    void *arg = question_take(FAKE_SCHEDULE_CHANGE);
    ck_assert_int_eq(fake.schedule_change.verb, MG_SCHEDULE_PAUSE);
    ck_assert_uint_eq(fake.schedule_change.version, 7);
    fake.schedule_changed(arg, MG_CHANGE_CONFLICT, 0, NULL);
    assert_answer(&request, 409, "reload");
    request = change("/api/v1/schedules/nightly/resume", RESUME_BODY);
    (void)fake_send(&request);
    fake.schedule_read(question_take(FAKE_SCHEDULE), &row, NULL);
    arg = question_take(FAKE_SCHEDULE_CHANGE);
    ck_assert_int_eq(fake.schedule_change.verb, MG_SCHEDULE_RESUME);
    ck_assert_int_eq(fake.schedule_change.upcoming_count, MG_UPCOMING_MAX);
    ck_assert_int_eq(fake.schedule_change.next_at_ms, 10000);
    fake.schedule_changed(arg, MG_CHANGE_DONE, 8, NULL);
    assert_answer(&request, 200, "version 8");
    request = change("/api/v1/schedules/nightly/run", ACK_BODY);
    (void)fake_send(&request);
    const struct mg_slot_row later = {
        .is_found = true, .definition = row.definition, .now_ms = 3600000 + 7001};
    fake.schedule_read(question_take(FAKE_SCHEDULE), &later, NULL);
    assert_answer(&request, 400, "the moment at which the page asked");
    request = change("/api/v1/schedules/nightly/run", "{\"reason\":\"seen to\",\"slot\":6400}");
    (void)fake_send(&request);
    fake.schedule_read(question_take(FAKE_SCHEDULE), &row, NULL);
    answer_note(NULL);
    ck_assert_str_eq(fake.verb, "schedule run");
    ck_assert_int_eq(fake.command.kind, MG_CAUSE_FIRE);
    ck_assert_int_eq(fake.command.slot_ms, 6400); /* a second click is the same slot */
    ck_assert_str_eq(fake.command.schedule, "nightly");
    const struct mg_command_result result = {.verdict = MG_COMMAND_DONE};
    answer_command(&result);
    assert_answer(&request, 200, "");
    request = change("/api/v1/schedules/none/run", ACK_BODY);
    (void)fake_send(&request);
    const struct mg_slot_row none = {.is_found = false};
    fake.schedule_read(question_take(FAKE_SCHEDULE), &none, NULL);
    assert_answer(&request, 404, "unknown schedule");
    request = change("/api/v1/schedules/nightly/delete", RESUME_BODY);
    ck_assert_uint_eq(fake_send(&request), 400);
}
END_TEST

/* Would catch: a bulk action of more orders than were confirmed; one that only seems to have begun. */
START_TEST(a_bulk_action_takes_the_confirmed_orders_or_names_the_obstacle)
{
    static const struct {
        struct mg_bulk_started started;
        unsigned int status;
        const char *text;
    } answers[] = {
        {{.bulk_id = BULK_ID, .is_new = true, .orders = 3},
         200,
         "{\"text\": \"started a bulk action on 3 orders\", \"bulk_id\": \"" BULK_ID
         "\", \"is_new\": true, \"state\": \"canary\", \"orders\": 3}"},
        {{.bulk_id = BULK_ID, .state = MG_BULK_PAUSED, .orders = 3},
         200,
         "{\"text\": \"this bulk action exists already: paused, 3 orders\", \"bulk_id\": \"" BULK_ID
         "\", \"is_new\": false, \"state\": \"paused\", \"orders\": 3}"},
        {{.open_bulk = MG_BULK_OPEN_MAX, .orders = 9}, 409, "16 bulk actions are open"},
        {{.orders = 4}, 409, "the filter now matches 4 orders, not 3: reload the page"},
        {{.orders = 3}, 409, "no order is eligible"},
        {{.orders = 0}, 409, "no order is eligible"}};
    for (size_t i = 0; i <= COUNT(answers); i++) {
        struct mg_http_exchange request = change("/api/v1/bulk", BULK_BODY(""));
        (void)fake_send(&request);
        void *arg = question_take(FAKE_START);
        ck_assert_int_eq(fake.start.verb, MG_CAUSE_RESUME);
        ck_assert_int_eq(fake.start.orders_max, 3);
        ck_assert_int_eq(fake.start.canary, 5);
        ck_assert_int_eq(fake.start.stop_percent, 10);
        ck_assert_str_eq(fake.rate, "5");
        ck_assert_str_eq(fake.by, "otto");
        if (i == COUNT(answers)) {
            fake.started(arg, NULL, &trouble);
            assert_answer(&request, 503, trouble.text);
        } else {
            fake.started(arg, &answers[i].started, NULL);
            assert_answer(&request, answers[i].status, answers[i].text);
        }
    }
}
END_TEST

/* Would catch: a bulk action of all failures, or of none, because one part of the filter is ignored. */
START_TEST(each_part_of_a_filter_and_each_verb_is_taken_as_it_was_sent)
{
    static const struct {
        const char *name, *value, *verb;
        enum mg_cause_kind kind;
    } cases[] = {{"workflow", "pay", "resume", MG_CAUSE_RESUME},
                 {"step", "charge", "compensate", MG_CAUSE_COMPENSATE},
                 {"error", "http_503", "cancel", MG_CAUSE_CANCEL},
                 {"service", "payment", "resume", MG_CAUSE_RESUME}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char body[256];
        (void)snprintf(
            body, sizeof(body),
            "{\"reason\": \"mended\", \"verb\": \"%s\", \"%s\": \"%s\", \"orders\": 3, \"ticket\": \"t\"}",
            cases[i].verb, cases[i].name, cases[i].value);
        struct mg_http_exchange request = change("/api/v1/bulk", body);
        (void)fake_send(&request);
        void *arg = question_take(FAKE_START);
        ck_assert_int_eq(fake.start.verb, cases[i].kind);
        const char *const parts[] = {i == 0 ? "pay" : "", i == 1 ? "charge" : "", i == 2 ? "http_503" : "",
                                     i == 3 ? "payment" : ""};
        (void)snprintf(body, sizeof(body), "%s/%s/%s/%s", parts[0], parts[1], parts[2], parts[3]);
        ck_assert_str_eq(fake.filter, body);
        fake.started(arg, NULL, &trouble);
    }
}
END_TEST

static void bulk_id_of(const char *body, char ret_bulk_id[MG_UUID_SIZE])
{
    struct mg_http_exchange request = change("/api/v1/bulk", body);
    (void)fake_send(&request);
    void *arg = question_take(FAKE_START);
    memcpy(ret_bulk_id, fake.bulk_id, MG_UUID_SIZE);
    fake.started(arg, NULL, &trouble);
}

/* Would catch: a second click that starts a second bulk action, or is taken for another person's. */
START_TEST(a_ticket_is_one_bulk_action_for_one_verb_and_filter)
{
    char first[MG_UUID_SIZE], again[MG_UUID_SIZE], other[MG_UUID_SIZE];
    bulk_id_of(BULK_BODY(""), first);
    bulk_id_of(BULK_BODY(", \"canary\": \"7\""), again);
    ck_assert_str_eq(first, again);
    static const char *const others[] = {
        BULK_BODY(", \"step\": \"charge\""),
        BULK_BODY(", \"error\": \"http\""),
        BULK_BODY(", \"service\": \"payment\""),
        BULK_BODY(", \"label\": \"customer=17\""),
        "{\"reason\": \"mended\", \"verb\": \"cancel\", \"workflow\": \"pay\", \"orders\": 3, \"ticket\": \"t\"}",
        "{\"reason\": \"mended\", \"verb\": \"resume\", \"workflow\": \"pay\", \"orders\": 3, \"ticket\": \"u\"}"};
    for (size_t i = 0; i < COUNT(others); i++) {
        bulk_id_of(others[i], other);
        ck_assert_msg(strcmp(first, other) != 0, "%s", others[i]);
    }
}
END_TEST

/* ---- refused input ---- */

#define SIXTY    "000000000000000000000000000000000000000000000000000000000000"
#define TOO_LONG SIXTY SIXTY "00000000" /* too long for each short member */

static const struct {
    const char *path, *body, *why;
} REFUSED[] = {
    {ORDER("resume"), "", ""},
    {ORDER("resume"), "reason=mended", ""},
    {ORDER("resume"), "{}", "reason: expected at least 3"},
    {ORDER("resume"), "{\"version\": 7}", "reason: expected at least 3"},
    {ORDER("resume"), "{\"reason\": \"no\", \"version\": 7}", "reason: expected at least 3"},
    {ORDER("resume"), "{\"reason\": 1234567, \"version\": 7}", "reason: expected a text"},
    {ORDER("resume"), "{\"reason\": \"yes\\u0000, indeed\", \"version\": 7}", "NUL"},
    {ORDER("resume"), ACK_BODY, "version"},
    {ORDER("resume"), "{\"reason\": \"mended\", \"version\": 0}", "version"},
    {ORDER("resume"), "{\"reason\": \"mended\", \"version\": -7}", "version"},
    {ORDER("resume"), "{\"reason\": \"mended\", \"version\": \"7\"}", "version"},
    {ORDER("resume"), "{\"reason\": \"mended\", \"version\": 7.5}", "version"},
    {ORDER("resume"), "{\"reason\": \"mended\", \"version\": 123456789012345678901234}", "must fit 64 bits"},
    {ORDER("settle"), RESUME_BODY, "step: expected"},
    {ORDER("settle"), BODY(", \"step\": \"charge\""), "outcome: expected"},
    {ORDER("settle"), BODY(", \"step\": \"charge\", \"outcome\": \"absent\", \"result\": \"1\""),
     "result: only"},
    {ORDER("resume"), BODY(", \"set\": \"{\\\"card\\\": 1}\""), "set: expected pointers"},
    {ORDER("resume"), BODY(", \"set\": \"[]\""), "set: expected an object"},
    {"/api/v1/orders", "{\"reason\": \"by hand\", \"workflow\": \"No Name\", \"payload\": \"{}\"}",
     "workflow: expected"},
    {"/api/v1/orders", "{\"reason\": \"by hand\", \"workflow\": \"pay\"}", "payload: expected"},
    {ORDER("skip"), RESUME_BODY, "step: expected"},
    {ORDER(""), RESUME_BODY, "unknown verb"},
    {ORDER("Resume"), RESUME_BODY, "unknown verb"},
    {"/api/v1/orders", RESUME_BODY, "version: unknown member"},
    {"/api/v1/orders/a b/resume", RESUME_BODY, "invalid order id"},
    {"/api/v1/orders/a/resume/now", RESUME_BODY, "unknown address"},
    {"/api/v1/workflows", RESUME_BODY, "unknown address"},
    {"/api/v1/", RESUME_BODY, "unknown address"},
    {"/api/v1/services/No Name/pause", RESUME_BODY, "invalid service name"},
    {"/api/v1/services//pause", RESUME_BODY, "invalid service name"},
    {"/api/v1/services/payment/stop", RESUME_BODY, "unknown verb"},
    {"/api/v1/services/payment/pause", "{\"reason\": \"slowly\", \"for\": \"soon\"}", "for: expected"},
    {"/api/v1/services/payment/pause", "{\"reason\": \"slowly\", \"for\": \"-1s\"}", "for: expected"},
    {"/api/v1/services/payment/pause", "{\"reason\": \"slowly\", \"for\": \"0s\"}", "for: expected"},
    {"/api/v1/services/payment/pause", "{\"reason\": \"slowly\", \"for\": \"999ms\"}", "for: expected"},
    {"/api/v1/services/payment/pause", "{\"reason\": \"slowly\", \"for\": \"366d\"}", "for: expected"},
    {"/api/v1/services/payment/pause", "{\"reason\": \"slowly\", \"for\": \"1" TOO_LONG "m\"}",
     "expected short texts"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\"}", "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"concurrency\": \"0\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"concurrency\": \"2.5\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"concurrency\": \"4097\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"concurrency\": \"-1\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"rate\": \"1e3\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"rate\": \"0\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"rate\": \"1.2.3\"}",
     "concurrency, rate: expected"},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"rate\": \"1000001\"}",
     "concurrency, rate: expected"},
    {"/api/v1/alerts/12/ack", "", "line 1, column 1"},
    {"/api/v1/alerts/12/ack", "{\"reason\": \"I look\",}", "no trailing comma"},
    {"/api/v1/alerts/12/ack", "{\"reason\": \"I look\", \"reason\": \"at it\"}", "use each name once"},
    {"/api/v1/alerts/12/ack", "{\"reason\": \"I\\u0000 look\"}", "remove it"},
    {"/api/v1/alerts/12/ack", "[\"I look at it\"]", "expected an object"},
    {"/api/v1/alerts/12/ack", "{\"reason\": 12345}", "reason: expected"},
    {"/api/v1/alerts/x/ack", ACK_BODY, "expected alerts/NUMBER/ack"},
    {"/api/v1/alerts//ack", ACK_BODY, "expected alerts/NUMBER/ack"},
    {"/api/v1/alerts/-1/ack", ACK_BODY, "expected alerts/NUMBER/ack"},
    {"/api/v1/alerts/1234567890123456789/ack", ACK_BODY, "expected alerts/NUMBER/ack"},
    {"/api/v1/alerts/12/close", ACK_BODY, "expected alerts/NUMBER/ack"},
    {"/api/v1/dead", DROP_BODY, "expected dead/drop"},
    {"/api/v1/dead/purge", DROP_BODY, "expected dead/drop"},
    {"/api/v1/dead/drop/all", DROP_BODY, "expected dead/drop"},
    {"/api/v1/dead/drop", ACK_BODY, "queue, mark"},
    {"/api/v1/dead/drop", "{\"reason\": \"old\", \"queue\": \"dead.letters\"}", "queue, mark"},
    {"/api/v1/dead/drop", "{\"reason\": \"old\", \"queue\": \"orders.intake\", \"mark\": \"00\"}",
     "queue, mark"},
    {"/api/v1/dead/drop",
     "{\"reason\": \"old\", \"queue\": \"dead.letters\","
     " \"mark\": \"0123456789012345678901234567890123456789012345678901234567890123\"}",
     "queue, mark"},
    {"/api/v1/bulk/x/stop", RESUME_BODY, "invalid bulk action id"},
    {"/api/v1/bulk/" BULK_ID "/drop", RESUME_BODY, "pause, resume or stop"},
    {"/api/v1/bulk/" BULK_ID, "{\"reason\": \"mended\"}", "pause, resume or stop"},
    {"/api/v1/bulk/" BULK_ID, RESUME_BODY, "pause, resume or stop"},
    {"/api/v1/bulk", "{\"reason\": \"mended\", \"verb\": \"resume\", \"workflow\": \"pay\", \"orders\": 3}",
     "ticket"},
    {"/api/v1/bulk",
     "{\"reason\": \"mended\", \"verb\": \"resume\", \"workflow\": \"pay\", \"ticket\": \"t\"}", "orders"},
    {"/api/v1/bulk",
     "{\"reason\": \"mended\", \"verb\": \"restart\", \"workflow\": \"pay\", \"orders\": 3, \"ticket\": \"t\"}",
     "verb"},
    {"/api/v1/bulk", "{\"reason\": \"mended\", \"verb\": \"resume\", \"orders\": 3, \"ticket\": \"t\"}",
     "no filter"},
    {"/api/v1/bulk", BULK_BODY(", \"rate\": \"0\""), "rate"},
    {"/api/v1/bulk", BULK_BODY(", \"rate\": \"1001\""), "rate"},
    {"/api/v1/bulk", BULK_BODY(", \"canary\": \"-1\""), "canary"},
    {"/api/v1/bulk", BULK_BODY(", \"canary\": \"10001\""), "canary"},
    {"/api/v1/bulk", BULK_BODY(", \"canary\": \"1234567890123456789\""), "canary"},
    {"/api/v1/bulk", BULK_BODY(", \"canary\": \"5" TOO_LONG "\""), "canary"},
    {"/api/v1/bulk", BULK_BODY(", \"stop_above\": \"101\""), "canary"},
    {"/api/v1/bulk", BULK_BODY(", \"stop_above\": \"all\""), "canary"},
    {"/api/v1/bulk", BULK_BODY(", \"service\": \"No Name\""), "service No Name: invalid name"},
    {"/api/v1/bulk", BULK_BODY(", \"step\": \"charge" TOO_LONG "\""), "expected short texts"},
};

/* Would catch: ambiguous input that is accepted and moves money. */
START_TEST(an_impossible_request_is_refused_and_changes_nothing)
{
    for (size_t i = 0; i < COUNT(REFUSED); i++) {
        struct mg_http_exchange request = change(REFUSED[i].path, REFUSED[i].body);
        ck_assert_msg(fake_send(&request) == 400 && strstr(request.text, REFUSED[i].why) != NULL,
                      "%s %s: %u %s", REFUSED[i].path, REFUSED[i].body, request.status, request.text);
        ck_assert_msg(fake.asked == 0 && fake.settled == 0, "%s %s", REFUSED[i].path, REFUSED[i].body);
        ck_assert(LIST_EMPTY(&fake.console.changes));
    }
}
END_TEST

/* Would catch: a reason that is cut, and so is lost to a later reader. */
START_TEST(a_reason_is_kept_whole_or_refused)
{
    char body[700], letters[MG_COMMAND_REASON_MAX + 2];
    memset(letters, 'x', sizeof(letters));
    letters[MG_COMMAND_REASON_MAX] = '\0';
    (void)snprintf(body, sizeof(body), "{\"reason\": \"%s\", \"version\": 7}", letters);
    struct mg_http_exchange request = change(ORDER("resume"), body);
    ck_assert_uint_eq(fake_send(&request), 0);
    ck_assert_str_eq(fake.reason, letters);
    answer_note(NULL);
    ck_assert_str_eq(fake.command.reason, letters);
    answer_command(NULL);
    (void)snprintf(body, sizeof(body), "{\"reason\": \"%sx\", \"version\": 7}", letters);
    request = change(ORDER("resume"), body);
    (void)fake_send(&request);
    assert_answer(&request, 400, "too long: at most 511 bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("console act");
    TCase *tests = tcase_create("act");
    tcase_add_checked_fixture(tests, set_up, fake_finish);
    tcase_add_test(tests, a_change_that_cannot_be_recorded_is_not_made);
    tcase_add_test(tests, recorded_changes_equal_the_changes_made);
    tcase_add_test(tests, a_page_receives_what_became_of_its_command);
    tcase_add_test(tests, without_a_broker_no_order_is_changed_and_nothing_is_noted);
    tcase_add_test(tests, a_click_is_one_command_of_one_person_for_one_change);
    tcase_add_test(tests, a_change_continues_after_its_page_is_gone);
    tcase_add_test(tests, a_page_receives_what_the_store_answers);
    tcase_add_test(tests, a_schedule_is_paused_resumed_and_run);
    tcase_add_test(tests, a_bulk_action_takes_the_confirmed_orders_or_names_the_obstacle);
    tcase_add_test(tests, each_part_of_a_filter_and_each_verb_is_taken_as_it_was_sent);
    tcase_add_test(tests, a_ticket_is_one_bulk_action_for_one_verb_and_filter);
    tcase_add_test(tests, an_impossible_request_is_refused_and_changes_nothing);
    tcase_add_test(tests, a_reason_is_kept_whole_or_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
