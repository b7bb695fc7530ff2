/*
 * Writing and reading orders. Every field comes back unchanged, the version guard holds, a bad row fails
 * alone, and the effects of a cause can be read again.
 */
#include "record_fixture.h"
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#include "io/store/columns.def"

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

static void assert_slice(struct mg_slice actual, struct mg_slice expected)
{
    ck_assert_int_eq(actual.data == NULL, expected.data == NULL);
    if (expected.data == NULL) {
        return;
    }
    ck_assert_uint_eq(actual.len, expected.len);
    ck_assert_int_eq(memcmp(actual.data, expected.data, actual.len), 0);
}

/* By conversion: a value that its neighbours in the list do not have. */
static int number;
#define SET_INT(member, with)  member = (__typeof__(member))(UINT32_MAX - (uint32_t)number++);
#define SET_TIME(member, with) member = 1700000000001 + number++;
#define SET_BOOL(member, with) member = number++ % 3 != 0;
#define SET_WORD(member, with) member = (__typeof__(member))(number++ % COUNT_##with);
#define SET_TEXT(member, with) member = mg_slice_of(TEXTS[number++ % 4]);
#define SET_DIGEST(member, with)                                                                             \
    with = number++ % 3 != 0;                                                                                \
    memset(member, with ? number : 0, sizeof(member));
#define SET_STRING(member, with)
#define SET_CHARS(member, with)
#define SET_FLAG(member, with)
#define COUNT_mg_order_state MG_ORDER_STATE_COUNT
#define COUNT_mg_step_state  MG_STEP_STATE_COUNT
#define COUNT_mg_goal        MG_GOAL_COUNT
#define COUNT_mg_reason      MG_REASON_COUNT
#define COUNT_mg_kind        MG_KIND_COUNT

#define SET(name, type, written, loaded, listed, conversion, member, with) SET_##conversion(member, with)

static const char *const TEXTS[] = {"reply.x.1.do", "{\"a\": 1.00, \"t\":\"\xc3\xa4\\\"{},NULL\"}", "", NULL};

static void fill_step(struct mg_order_record *record, int index)
{
    static char step_names[MG_STEPS_MAX][16], services[MG_STEPS_MAX][16];
    struct mg_step *step = &record->order.steps[index];
    struct mg_step_record *more = &record->steps[index];
    MG_STEP_COLUMNS(MG_EACH, SET);
    more->open = mg_slice_of(TEXTS[index % 2 == 0 ? 1 : 3]); /* indexes read it: JSON, or none */
    snprintf(step_names[index], sizeof(step_names[index]), "step-%d", index);
    snprintf(services[index], sizeof(services[index]), "service-%d", index);
    record->step_names[index] = step_names[index];
    record->services[index] = services[index];
}

static void fill_order(struct mg_order_record *record)
{
    struct mg_order *order = &record->order;
    number = 0;
    MG_ORDER_COLUMNS(MG_EACH, SET);
    MG_ORDER_COLUMNS(MG_FIRST, SET);
    order->version = 1;
    order->step_count = MG_STEPS_MAX;
    record->revision = 1;
    record->client = mg_slice_of("shop");
    memset(record->digest, 0x5a, sizeof(record->digest));
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        fill_step(record, i);
    }
}

/* A record's order, or a step of it, as text that stays until the next but one. */
static const char *text_of(const struct mg_order_record *record, int step)
{
    static char texts[2][4096];
    static int turn;
    char *text = texts[turn = 1 - turn];
    FILE *out = fmemopen(text, sizeof(texts[0]), "w");
    ck_assert_ptr_nonnull(out);
    if (step < 0) {
        record_print_order(out, record);
    } else {
        record_print_step(out, record, step);
    }
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

static void assert_same(const struct mg_order_record *a, const struct mg_order_record *b)
{
    for (int i = -1; i < MG_STEPS_MAX; i++) {
        ck_assert_str_eq(text_of(a, i), text_of(b, i));
    }
}

/* Would catch: a column that is forgotten, swapped or rounded. */
START_TEST(every_field_comes_back_as_it_was_written)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    fill_order(&record);
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 0, &event, "m-1");
    write.changed_steps = UINT64_MAX;
    rig_commit(&rig, &write, 1);
    ck_assert_msg(write.result == MG_WRITE_DONE, "%s%s", rig.err.text, write.text);
    const struct mg_order_record *loaded = rig_load_one(&rig, "o-1");
    record.stored_steps = UINT64_MAX;
    assert_same(loaded, &record);
    ck_assert_str_eq(rig_value(&rig, "SELECT locked_by FROM order_process"), "test:1");
}
END_TEST

/* Law 8, derived identities: requests carry the moment. Would catch: a row with the moment of the insert, one
 * that an update moves, or a fraction that is rounded up and so read as another moment. */
START_TEST(the_moment_of_acceptance_is_read_as_it_was_written)
{
    static const int64_t MOMENTS_MS[] = {1, 999, 1769862896700, 1769862896789, 253402300799999};
    static struct mg_order_record record;
    struct mg_event_record event;
    char order_id[16];
    for (size_t i = 0; i < sizeof(MOMENTS_MS) / sizeof(MOMENTS_MS[0]); i++) {
        snprintf(order_id, sizeof(order_id), "o-%zu", i);
        order_make(&record, order_id);
        record.created_at_ms = MOMENTS_MS[i];
        order_store(&rig, &record, NULL);
        ck_assert_int_eq(rig_load_one(&rig, order_id)->created_at_ms, MOMENTS_MS[i]);
        record.order.version = 2;
        record.created_at_ms++; /* not a value of an update */
        struct mg_order_write write = write_make(&record, 1, &event, "r-1");
        rig_commit(&rig, &write, 1);
        ck_assert_int_eq(write.result, MG_WRITE_DONE);
        ck_assert_int_eq(rig_load_one(&rig, order_id)->created_at_ms, MOMENTS_MS[i]);
    }
    ck_assert_str_eq(
        rig_value(&rig, "SELECT makegood_time(created_at) FROM order_process WHERE order_id = 'o-3'"),
        "2026-01-31T12:34:56.789Z");
}
END_TEST

/* Orders of before have the moment of their insert, in microseconds. Would catch: one that is rounded up, or
 * that differs between two reads. */
START_TEST(an_order_of_an_older_version_has_the_moment_of_its_insert)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    rig_admin(&rig, "UPDATE order_process SET created_at = '2026-01-31T12:34:56.789999Z'");
    ck_assert_int_eq(rig_load_one(&rig, "o-1")->created_at_ms, 1769862896789);
    ck_assert_str_eq(rig_value(&rig, "SELECT makegood_time(created_at) FROM order_process"),
                     "2026-01-31T12:34:56.789Z");
    rig_admin(
        &rig,
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
        "  locked_by, workflow, workflow_version, revision, is_high, wants_step_status)"
        " SELECT 'o-2', process_state, goal, reason, version, seq, generation, failure_count, locked_by, workflow,"
        "  workflow_version, revision, is_high, wants_step_status FROM order_process;"
        "INSERT INTO orders SELECT 'o-2', revision, workflow, workflow_version, payload, digest, is_high"
        "  FROM orders");
    int64_t first_ms = rig_load_one(&rig, "o-2")->created_at_ms;
    ck_assert_int_gt(first_ms, 1769862896789);
    ck_assert_int_eq(rig_load_one(&rig, "o-2")->created_at_ms, first_ms);
}
END_TEST

/* Would catch: an update that leaves old values behind, or that changes steps it does not name. */
START_TEST(an_update_replaces_what_it_names_and_only_that)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    fill_order(&record);
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 0, &event, "m-1");
    write.changed_steps = 3;
    rig_commit(&rig, &write, 1);
    uint32_t attempt = record.order.steps[1].attempt;
    record.stored_steps = 3;
    record.order.version = 2;
    record.order.state = MG_ORDER_PROCESSED;
    record.order.wake_at_ms = record.order.complete_by_ms = 0;
    record.revision = 2;
    record.payload = mg_slice_of("{\"price\":15.00}");
    record.reply_to = (struct mg_slice){NULL, 0};
    record.order.steps[0] = (struct mg_step){.state = MG_STEP_DONE};
    record.steps[0] = (struct mg_step_record){0};
    record.order.steps[1].attempt = 77; /* not named below: must not reach the table */
    write = write_make(&record, 1, &event, "c-2");
    write.changed_steps = 1;
    write.is_payload_changed = true;
    rig_commit(&rig, &write, 1);
    ck_assert_msg(write.result == MG_WRITE_DONE, "%s%s", rig.err.text, write.text);
    const struct mg_order_record *loaded = rig_load_one(&rig, "o-1");
    ck_assert_int_eq(loaded->order.state, MG_ORDER_PROCESSED);
    ck_assert_int_eq(loaded->order.wake_at_ms, 0);
    assert_slice(loaded->payload, record.payload);
    assert_slice(loaded->reply_to, record.reply_to);
    assert_slice(loaded->steps[0].result, (struct mg_slice){NULL, 0});
    ck_assert(!loaded->steps[0].has_do_digest);
    ck_assert_int_eq(memcmp(&loaded->order.steps[0], &record.order.steps[0], sizeof(record.order.steps[0])),
                     0);
    ck_assert_uint_eq(loaded->order.steps[1].attempt, attempt);
    ck_assert_int_eq(loaded->order.step_count, 2);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(payload, ' ' ORDER BY revision) FROM orders"),
                     "{\"price\":14.00} {\"price\":15.00}");
}
END_TEST

/* Law 4, version guard. Would catch: two deciders that both win, and rows written although the guard did not
 * hold. */
START_TEST(a_stale_version_writes_nothing_at_all)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    record.order.version = 2;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    struct mg_alert_write alert = {
        .alert = MG_ALERT_ORDER_ERROR, .subject = "o-1", .order_id = "o-1", .text = mg_slice_of("x")};
    write = write_make(&record, 1, &event, "r-2");
    write.changed_steps = 1;
    write.is_payload_changed = true;
    record.revision = 2;
    write.alerts = &alert;
    write.alert_count = 1;
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_int_eq(write.result, MG_WRITE_CONFLICT);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event WHERE cause = 'r-2'"), "0");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_step"), "0");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_alert"), "0");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM orders"), "1");
}
END_TEST

START_TEST(an_order_that_exists_is_not_inserted_again)
{
    static struct mg_order_record records[2];
    order_make(&records[0], "o-1");
    order_store(&rig, &records[0], NULL);
    order_make(&records[0], "o-1");
    order_make(&records[1], "o-0");
    struct mg_event_record events[2];
    struct mg_order_write writes[2] = {write_make(&records[0], 0, &events[0], "again"),
                                       write_make(&records[1], 0, &events[1], "new")};
    rig_commit(&rig, writes, 2);
    ck_assert_int_eq(writes[0].result, MG_WRITE_CONFLICT);
    ck_assert_int_eq(writes[1].result, MG_WRITE_DONE);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event WHERE cause = 'again'"), "0");
}
END_TEST

/* Would catch: good orders that are lost with a neighbour of a stale version, or that get its answer. */
START_TEST(orders_whose_guards_hold_are_stored_beside_one_whose_does_not)
{
    enum { COUNT = 5, LATE = 3 };
    static struct mg_order_record records[COUNT];
    struct mg_event_record events[COUNT];
    struct mg_order_write writes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        order_make(&records[i], order_id);
        order_store(&rig, &records[i], NULL);
        records[i].order.version = i == LATE ? 3 : 2;
        writes[i] = write_make(&records[i], i == LATE ? 2 : 1, &events[i], "r-1");
        writes[i].changed_steps = 1;
    }
    rig_commit(&rig, writes, COUNT);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(writes[i].result, i == LATE ? MG_WRITE_CONFLICT : MG_WRITE_DONE);
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ' ' ORDER BY order_id) FROM order_step"),
                     "o-0 o-1 o-2 o-4");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event WHERE cause = 'r-1'"), "4");
}
END_TEST

/* Would catch: a step's change that is lost because its row is not at the expected place. */
START_TEST(a_step_without_the_row_it_should_have_is_not_passed_over)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    record.order.version = 2;
    record.stored_steps = 1;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    write.changed_steps = 1;
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_REFUSED);
    ck_assert_str_eq(rig_value(&rig, "SELECT version FROM order_process"), "1");
}
END_TEST

/* Would catch: a batch that fails as a whole by one bad row, and a bad row that is stored in part. */
START_TEST(a_row_that_cannot_be_stored_stands_alone)
{
    enum { COUNT = 9, BAD = 5 };
    static struct mg_order_record records[COUNT];
    struct mg_event_record events[COUNT];
    struct mg_order_write writes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", COUNT - i);
        order_make(&records[i], order_id);
        writes[i] = write_make(&records[i], 0, &events[i], "m");
    }
    records[BAD].payload =
        (struct mg_slice){"{\"a\":\"\0\"}", 9}; /* a NUL byte, which no text of PostgreSQL can hold */
    rig_commit(&rig, writes, COUNT);
    ck_assert_int_eq(rig.err.class, MG_OK);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(writes[i].result, i == BAD ? MG_WRITE_REFUSED : MG_WRITE_DONE);
    }
    ck_assert_msg(strstr(writes[BAD].text, "22021") != NULL, "%s", writes[BAD].text);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_process"), "8");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event"), "8");
}
END_TEST

/* Would catch: a right that is taken for granted again after a write that did not need it. */
START_TEST(a_missing_right_is_missing_until_what_needs_it_gets_through)
{
    static struct mg_order_record records[2];
    struct mg_event_record event;
    struct rig limited;
    char dsn[512], reason[256];
    rig_admin(&rig, "DROP ROLE IF EXISTS mg_no_alerts; CREATE ROLE mg_no_alerts;"
                    "GRANT ALL ON ALL TABLES IN SCHEMA public TO mg_no_alerts;"
                    "REVOKE INSERT ON operator_alert FROM mg_no_alerts");
    snprintf(dsn, sizeof(dsn), "%s options='-c role=mg_no_alerts'", store_dsn());
    rig_open(&limited);
    rig_start_with(&limited, (struct mg_store_options){.dsn = dsn}, true);
    order_make(&records[0], "o-1");
    order_make(&records[1], "o-2");
    struct mg_alert_write alert = {
        .alert = MG_ALERT_ORDER_ERROR, .subject = "o-1", .order_id = "o-1", .text = mg_slice_of("x")};
    struct mg_order_write write = write_make(&records[0], 0, &event, "m-1");
    write.alerts = &alert;
    write.alert_count = 1;
    rig_commit(&limited, &write, 1);
    ck_assert_int_ne(limited.err.class, MG_OK);
    order_store(&limited, &records[1], NULL);
    ck_assert(!mg_store_is_ready(limited.store, reason, sizeof(reason)));
    ck_assert_ptr_nonnull(strstr(reason, "operator_alert"));
    rig_admin(&rig, "GRANT INSERT ON operator_alert TO mg_no_alerts");
    rig_commit(&limited, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    ck_assert(mg_store_is_ready(limited.store, reason, sizeof(reason)));
    rig_finish(&limited);
    rig_admin(&rig, "DROP OWNED BY mg_no_alerts; DROP ROLE mg_no_alerts");
}
END_TEST

/* Law 3, re-creation. Would catch: effects of a redelivered cause that are not found, and a repeated status
 * in other words than the first. */
START_TEST(effects_of_a_known_cause_are_found_again)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    record.order.version = 3;
    struct mg_event_record events[2];
    struct mg_order_write write = write_make(&record, 1, &events[0], "r-1");
    (void)write_make(&record, 1, &events[1], "r-2");
    events[0].version = 2;
    events[0].step = mg_slice_of("reserve");
    events[0].attempt = 4;
    events[0].reason = mg_slice_of("the service refused");
    events[0].transitions = mg_slice_of("[{\"to\": \"done\"}]");
    events[0].statuses =
        mg_slice_of("[{\"seq\":2,\"status\":\"error\"}, {\"seq\":1,  \"status\":\"accepted\"} ]");
    events[1].cause_kind = MG_CAUSE_REATTACHED;
    events[1].statuses = mg_slice_of("[{\"seq\":1,  \"status\":\"accepted\"}]"); /* the status to repeat */
    events[0].is_owed = true;
    write.event_count = 2;
    rig_commit(&rig, &write, 1);
    ck_assert_msg(write.result == MG_WRITE_DONE, "%s%s", rig.err.text, write.text);
    struct mg_load loads[] = {{"o-1", mg_slice_of("r-1"), false},
                              {"o-none", mg_slice_of("r-1"), true},
                              {"o-1", mg_slice_of("r-9"), false},
                              {"o-1", {NULL, 0}, false},
                              {"o-1", mg_slice_of("m-1"), true}};
    rig_load(&rig, loads, 5);
    const struct mg_loaded *orders = rig.loaded->orders;
    ck_assert(orders[1].record == NULL && orders[1].event == NULL && orders[2].event == NULL &&
              orders[3].event == NULL);
    ck_assert(orders[0].record != NULL && orders[0].record == orders[2].record &&
              orders[0].record == orders[4].record);
    ck_assert_uint_eq(orders[4].event->version, 1);
    ck_assert(orders[0].sent_status.data == NULL &&
              orders[1].sent_status.data == NULL); /* not requested; absent */
    assert_slice(orders[4].sent_status, mg_slice_of("{\"seq\":1,  \"status\":\"accepted\"}"));
    ck_assert_uint_eq(orders[4].sent_version, 3); /* the newest event that keeps it */
    ck_assert(orders[4].is_owed);
    const struct mg_event_record *event = orders[0].event;
    ck_assert_uint_eq(event->version, 2);
    ck_assert_int_eq(event->cause_kind, MG_CAUSE_REPLY);
    ck_assert_uint_eq(event->attempt, 4);
    ck_assert(event->is_owed);
    assert_slice(event->cause, events[0].cause);
    assert_slice(event->by, events[0].by);
    assert_slice(event->step, events[0].step);
    assert_slice(event->reason, events[0].reason);
    assert_slice(event->transitions, events[0].transitions);
    assert_slice(event->statuses, events[0].statuses);
    ck_assert_int_gt(rig.loaded->now_ms, 1700000000000);
}
END_TEST

/* Law 13, nothing lost. Would catch: one order of a newer version that makes all others unreadable. */
START_TEST(an_order_in_words_of_a_newer_version_is_distinguished)
{
    static struct mg_order_record first, second;
    order_make(&first, "o-1");
    order_store(&rig, &first, NULL);
    order_make(&second, "o-2");
    order_store(&rig, &second, NULL);
    rig_admin(&rig, "ALTER DOMAIN makegood_goal DROP CONSTRAINT makegood_goal_word");
    rig_admin(&rig, "UPDATE order_process SET goal = 'forgiven' WHERE order_id = 'o-1'");
    struct mg_load loads[] = {{"o-1", mg_slice_of("m-1"), true},
                              {"o-2", mg_slice_of("m-1"), true},
                              {"o-1", {NULL, 0}, true},
                              {"o-none", {NULL, 0}, true}};
    rig_load(&rig, loads, 4);
    const struct mg_loaded *orders = rig.loaded->orders;
    ck_assert(orders[0].is_unreadable && orders[0].record == NULL && orders[0].event == NULL);
    ck_assert(orders[2].is_unreadable && orders[2].record == NULL);
    ck_assert(!orders[1].is_unreadable && orders[1].record != NULL && orders[1].event != NULL);
    ck_assert(!orders[3].is_unreadable && orders[3].record == NULL);
    rig_admin(&rig, "DELETE FROM order_process WHERE order_id = 'o-1'");
    rig_admin(&rig, "ALTER DOMAIN makegood_goal ADD CONSTRAINT makegood_goal_word CHECK (VALUE IN"
                    " ('processed', 'compensated', 'cancelled'))");
}
END_TEST

/* Would catch: a commit that undoes the work of a sweep, and an index written without need. */
START_TEST(a_commit_moves_wake_at_only_to_an_earlier_time_or_to_none)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    record.order.wake_at_ms = 2000000005000;
    order_store(&rig, &record, NULL);
    static const int64_t WANTED[] = {2000000009000, 2000000001000, 2000000003000, 0, 2000000009000};
    static const int64_t STORED[] = {2000000005000, 2000000001000, 2000000001000, 0, 2000000009000};
    for (int i = 0; i < 5; i++) {
        record.order.version++;
        record.order.wake_at_ms = WANTED[i];
        struct mg_event_record event;
        struct mg_order_write write = write_make(&record, record.order.version - 1, &event, "r");
        rig_commit(&rig, &write, 1);
        ck_assert_int_eq(write.result, MG_WRITE_DONE);
        ck_assert_int_eq(rig_load_one(&rig, "o-1")->order.wake_at_ms, STORED[i]);
    }
}
END_TEST

START_TEST(alerts_go_with_the_order_and_the_last_word_counts)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    const struct mg_failure failure = {
        mg_slice_of("fulfilment"), mg_slice_of("reserve"), {NULL, 0}, mg_slice_of("http_500/shelf_on_fire")};
    struct mg_alert_write alerts[] = {
        {MG_ALERT_ORDER_ERROR, false, "o-1", "o-1", mg_slice_of("first"), NULL},
        {MG_ALERT_UNDO_FAILED, false, "o-1.reserve", "o-1", mg_slice_of("second"), &failure},
        {MG_ALERT_ORDER_ERROR, true, "o-1", "o-1", {NULL, 0}, NULL},
        {MG_ALERT_UNPUBLISHABLE, false, "inventory", "", mg_slice_of("third"), NULL},
    };
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 0, &event, "m");
    write.alerts = alerts;
    write.alert_count = 4;
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    ck_assert_str_eq(
        rig_value(&rig, "SELECT string_agg(code || ' ' || subject || ' ' || coalesce(order_id, '-'), ','"
                        " ORDER BY code) FROM operator_alert WHERE closed_at IS NULL"),
        "undo_failed o-1.reserve o-1,unpublishable inventory -");
    ck_assert_str_eq(
        rig_value(&rig, "SELECT workflow || ' ' || step || ' ' || coalesce(service, '-') || ' ' || error_code"
                        " || ' ' || signature FROM operator_alert WHERE code = 'undo_failed'"),
        "fulfilment reserve - http_500/shelf_on_fire http_500/shelf_on_fire");
    record.order.version = 2;
    write = write_make(&record, 1, &event, "r");
    alerts[0] = (struct mg_alert_write){MG_ALERT_UNDO_FAILED, true, "o-1.reserve", "o-1", {NULL, 0}, NULL};
    write.alerts = alerts;
    write.alert_count = 1;
    rig_commit(&rig, &write, 1);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_alert WHERE closed_at IS NULL"), "1");
}
END_TEST

/* Would catch: statements that fail when a batch has its largest size. */
START_TEST(a_large_batch_goes_through_in_one_piece)
{
    enum { COUNT = 300 };
    static struct mg_order_record records[COUNT];
    static struct mg_event_record events[COUNT];
    static struct mg_order_write writes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%03d", (i * 7) % COUNT);
        order_make(&records[i], order_id);
        records[i].order.steps[0].state = MG_STEP_RUNNING;
        writes[i] = write_make(&records[i], 0, &events[i], "m");
        writes[i].changed_steps = 1;
    }
    rig_commit(&rig, writes, COUNT);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(writes[i].result, MG_WRITE_DONE);
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_step WHERE state = 'running'"), "300");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(DISTINCT xmin::text) FROM order_process"), "1");
}
END_TEST

START_TEST(an_empty_batch_is_answered_too)
{
    rig_commit(&rig, NULL, 0);
    ck_assert_int_eq(rig.err.class, MG_OK);
    rig_load(&rig, NULL, 0);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_int_gt(rig.loaded->now_ms, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: orders");
    TCase *test = tcase_create("orders");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, every_field_comes_back_as_it_was_written);
    tcase_add_test(test, the_moment_of_acceptance_is_read_as_it_was_written);
    tcase_add_test(test, an_order_of_an_older_version_has_the_moment_of_its_insert);
    tcase_add_test(test, an_update_replaces_what_it_names_and_only_that);
    tcase_add_test(test, a_stale_version_writes_nothing_at_all);
    tcase_add_test(test, an_order_that_exists_is_not_inserted_again);
    tcase_add_test(test, orders_whose_guards_hold_are_stored_beside_one_whose_does_not);
    tcase_add_test(test, a_step_without_the_row_it_should_have_is_not_passed_over);
    tcase_add_test(test, a_row_that_cannot_be_stored_stands_alone);
    tcase_add_test(test, a_missing_right_is_missing_until_what_needs_it_gets_through);
    tcase_add_test(test, effects_of_a_known_cause_are_found_again);
    tcase_add_test(test, an_order_in_words_of_a_newer_version_is_distinguished);
    tcase_add_test(test, a_commit_moves_wake_at_only_to_an_earlier_time_or_to_none);
    tcase_add_test(test, alerts_go_with_the_order_and_the_last_word_counts);
    tcase_add_test(test, a_large_batch_goes_through_in_one_piece);
    tcase_add_test(test, an_empty_batch_is_answered_too);
    suite_add_tcase(suite, test);
    return store_main(suite, "orders");
}
