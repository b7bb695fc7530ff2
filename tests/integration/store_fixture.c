/* See store_fixture.h. */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_MS 5

static char database_dsn[2048];

const char *store_migrations(void)
{
    return MG_SOURCE_DIR "/deploy/postgres";
}

static const char *server_dsn(void)
{
    const char *dsn = getenv("MAKEGOOD_TEST_PG_DSN");
    if (dsn == NULL || dsn[0] == '\0') {
        fprintf(stderr, "MAKEGOOD_TEST_PG_DSN is not set: these tests need a PostgreSQL of their own\n");
        exit(1);
    }
    return dsn;
}

/* The server's DSN with another database, as key='value' pairs, in whichever form the original is. */
void store_dsn_of(const char *database, char *ret_dsn, size_t size)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(server_dsn(), &message);
    if (options == NULL) {
        fprintf(stderr, "MAKEGOOD_TEST_PG_DSN: %s\n", message);
        exit(1);
    }
    size_t len = (size_t)snprintf(ret_dsn, size, "dbname='%s'", database);
    for (const PQconninfoOption *option = options; option->keyword != NULL && len < size; option++) {
        if (option->val == NULL || strcmp(option->keyword, "dbname") == 0) {
            continue;
        }
        len += (size_t)snprintf(ret_dsn + len, size - len, " %s='%s'", option->keyword, option->val);
    }
    PQconninfoFree(options);
}

static void run_on_server(const char *sql)
{
    PGconn *conn = PQconnectdb(server_dsn());
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "%s: %s\n", sql, PQerrorMessage(conn));
        exit(1);
    }
    PQclear(result);
    PQfinish(conn);
}

const char *store_dsn(void)
{
    return database_dsn;
}

int store_main(Suite *suite, const char *name)
{
    char database[64], sql[128];
    snprintf(database, sizeof(database), "mg_%s_%d", name, (int)getpid());
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'", database);
    run_on_server(sql);
    store_dsn_of(database, database_dsn, sizeof(database_dsn));
    struct mg_err err;
    if (mg_store_migrate(&(struct mg_migrate_options){.dsn = database_dsn, .directory = store_migrations()},
                         &err) != MG_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    snprintf(sql, sizeof(sql), "DROP DATABASE %s WITH (FORCE)", database);
    run_on_server(sql);
    return failed == 0 ? 0 : 1;
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    struct rig *rig = arg;
    (void)reason;
    if (is_up) {
        rig->ups++;
    } else {
        rig->downs++;
    }
    mg_loop_stop(rig->loop);
}

static void on_refused(void *arg, const char *reason)
{
    struct rig *rig = arg;
    rig->is_refused = true;
    snprintf(rig->refused, sizeof(rig->refused), "%s", reason);
    mg_loop_stop(rig->loop);
}

bool rig_is_up(const struct rig *rig)
{
    char reason[64];
    return mg_store_is_up(rig->store, reason, sizeof(reason));
}

bool rig_is_refused(const struct rig *rig)
{
    return rig->is_refused;
}

/* Other suites have sessions of the same name on this server, in databases of their own. */
bool rig_is_locked_out(const struct rig *rig)
{
    PGresult *result = PQexec(rig->admin, "SELECT FROM pg_stat_activity WHERE application_name = 'store-test'"
                                          " AND datname = current_database() AND wait_event_type = 'Lock'");
    bool is_locked_out = PQntuples(result) == 1;
    PQclear(result);
    return is_locked_out;
}

void rig_open(struct rig *rig)
{
    *rig = (struct rig){.loop = mg_loop_create(), .arena = mg_arena_create(STORE_ARENA_BYTES)};
    ck_assert(rig->loop != NULL && rig->arena != NULL);
    rig->admin = PQconnectdb(database_dsn);
    ck_assert_msg(PQstatus(rig->admin) == CONNECTION_OK, "%s", PQerrorMessage(rig->admin));
}

void rig_start_with(struct rig *rig, struct mg_store_options options, bool waits_until_up)
{
    if (options.dsn == NULL) {
        options.dsn = database_dsn;
    }
    options.name = "store-test";
    options.on_state = on_state;
    options.on_refused = on_refused;
    options.arg = rig;
    struct mg_err err;
    ck_assert_int_eq(mg_store_create(rig->loop, &options, &rig->store, &err), MG_OK);
    if (waits_until_up) {
        rig_wait(rig, rig_is_up);
    }
}

void rig_start(struct rig *rig)
{
    rig_open(rig);
    rig_admin(
        rig,
        "TRUNCATE orders, order_process, order_step, order_event, order_label, operator_alert, service_state, service_control,"
        " counted_process, minute_count,"
        " sequence_key, sequence_place, operator_action, workflow, bulk, bulk_order, reply_queue, order_aside");
    rig_admin(rig, "UPDATE supervisor_leader SET epoch = 0, holder = '', seen_at = NULL, swept_at = NULL");
    rig_start_with(rig, (struct mg_store_options){0}, true);
}

static void nothing(void *arg)
{
    mg_loop_stop(arg);
}

void rig_finish(struct rig *rig)
{
    mg_store_destroy(rig->store);
    /* One more turn, so that closed handles are also freed. */
    struct mg_timer *timer = mg_timer_create(rig->loop, nothing, rig->loop);
    mg_timer_start(timer, 1, 0);
    mg_loop_run(rig->loop);
    mg_timer_destroy(timer);
    mg_loop_destroy(rig->loop);
    mg_arena_destroy(rig->arena);
    PQfinish(rig->admin);
}

static void on_deadline(void *arg)
{
    struct rig *rig = arg;
    rig->is_timed_out = true;
    mg_loop_stop(rig->loop);
}

static void on_tick(void *arg)
{
    mg_loop_stop(((struct rig *)arg)->loop);
}

void rig_wait(struct rig *rig, bool (*is_done)(const struct rig *rig))
{
    struct mg_timer *deadline = mg_timer_create(rig->loop, on_deadline, rig);
    struct mg_timer *ticks = mg_timer_create(rig->loop, on_tick, rig);
    rig->is_timed_out = false;
    mg_timer_start(deadline, STORE_WAIT_MS, 0);
    mg_timer_start(ticks, TICK_MS, TICK_MS);
    while (!is_done(rig) && !rig->is_timed_out) {
        mg_loop_run(rig->loop);
    }
    mg_timer_destroy(ticks);
    mg_timer_destroy(deadline);
    char reason[320] = "";
    if (rig->store != NULL) {
        (void)mg_store_is_up(rig->store, reason, sizeof(reason));
    }
    ck_assert_msg(!rig->is_timed_out, "it did not come in time (store: \"%s\", last error: \"%s\")", reason,
                  rig->err.text);
}

void rig_admin(struct rig *rig, const char *sql)
{
    PGresult *result = PQexec(rig->admin, sql);
    ExecStatusType status = PQresultStatus(result);
    ck_assert_msg(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", sql,
                  PQerrorMessage(rig->admin));
    PQclear(result);
}

const char *rig_value(struct rig *rig, const char *sql)
{
    PGresult *result = PQexec(rig->admin, sql);
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s: %s", sql, PQerrorMessage(rig->admin));
    snprintf(rig->text, sizeof(rig->text), "%s", PQntuples(result) == 0 ? "" : PQgetvalue(result, 0, 0));
    PQclear(result);
    return rig->text;
}

/* ---- calls ---- */

static void answered(struct rig *rig, const struct mg_err *err)
{
    rig->err = err == NULL ? (struct mg_err){MG_OK, ""} : *err;
    rig->answers++;
    if (rig->err.class == MG_TRANSIENT) {
        rig->transients++;
    }
    mg_loop_stop(rig->loop);
}

static bool is_answered(const struct rig *rig)
{
    return rig->answers > 0;
}

void rig_wait_answer(struct rig *rig)
{
    rig_wait(rig, is_answered);
    rig->answers--;
}

void rig_done(void *arg, const struct mg_err *err)
{
    answered(arg, err);
}

static void on_loaded(void *arg, const struct mg_load_answer *answer, const struct mg_err *err)
{
    struct rig *rig = arg;
    if (answer != NULL) {
        /* The pointers lead into the arena; the answer itself does not outlive the call. */
        struct mg_load_answer *copy = mg_arena_alloc(rig->arena, sizeof(*copy));
        *copy = *answer;
        rig->loaded = copy;
    }
    answered(rig, err);
}

void rig_load(struct rig *rig, const struct mg_load *loads, int count)
{
    rig->loaded = NULL;
    mg_store_load(rig->store, rig->arena, loads, count, on_loaded, rig);
    rig_wait_answer(rig);
}

struct mg_order_record *rig_load_one(struct rig *rig, const char *order_id)
{
    struct mg_load load = {.order_id = order_id};
    rig_load(rig, &load, 1);
    ck_assert_msg(rig->err.class == MG_OK, "%s", rig->err.text);
    return rig->loaded->orders[0].record;
}

void rig_commit(struct rig *rig, struct mg_order_write *writes, int count)
{
    mg_store_commit(rig->store, writes, count, rig_done, rig);
    rig_wait_answer(rig);
}

static void on_swept(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    struct rig *rig = arg;
    if (answer != NULL) {
        rig->sweep = *answer;
        ck_assert_int_le(answer->due_count, (int)(sizeof(rig->dues) / sizeof(rig->dues[0])));
        memcpy(rig->dues, answer->dues, (size_t)answer->due_count * sizeof(rig->dues[0]));
        rig->sweep.dues = rig->dues;
    }
    answered(rig, err);
}

void rig_sweep(struct rig *rig, const struct mg_sweep_options *options)
{
    mg_store_sweep(rig->store, options, on_swept, rig);
    rig_wait_answer(rig);
    ck_assert_msg(rig->err.class == MG_OK, "%s", rig->err.text);
}

static void on_parked(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err)
{
    struct rig *rig = arg;
    if (answer != NULL) {
        rig->parked = *answer;
        ck_assert_int_le(answer->due_count, (int)(sizeof(rig->dues) / sizeof(rig->dues[0])));
        ck_assert_int_le(answer->queue_count,
                         (int)(sizeof(rig->parked_queues) / sizeof(rig->parked_queues[0])));
        for (int i = 0; i < answer->due_count; i++) {
            rig->dues[i] = answer->dues[i];
        }
        for (int i = 0; i < answer->queue_count; i++) {
            rig->parked_queues[i] = answer->queues[i];
        }
    }
    answered(rig, err);
}

void rig_ask_parked(struct rig *rig, const struct mg_parked_options *options)
{
    mg_store_ask_parked(rig->store, options, on_parked, rig);
    rig_wait_answer(rig);
    ck_assert_msg(rig->err.class == MG_OK, "%s", rig->err.text);
}

static void on_lead(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err)
{
    struct rig *rig = arg;
    if (answer != NULL) {
        rig->lead = *answer;
    }
    rig->is_refused = answer != NULL && answer->refusal != NULL;
    if (rig->is_refused) {
        snprintf(rig->refused, sizeof(rig->refused), "%s", answer->refusal);
    }
    answered(rig, err);
}

void rig_lead(struct rig *rig, const char *holder)
{
    mg_store_try_lead(rig->store, holder, on_lead, rig);
    rig_wait_answer(rig);
}

/* ---- orders ---- */

static void on_rows(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct rig *rig = arg;
    rig->row_count = rows == NULL ? -1 : mg_rows_count(rows);
    rig->text[0] = '\0';
    for (int row = 0; row < rig->row_count; row++) {
        for (int column = 0; column < mg_rows_column_count(rows); column++) {
            struct mg_slice value = mg_rows_value(rows, row, column);
            size_t len = strlen(rig->text);
            snprintf(rig->text + len, sizeof(rig->text) - len, "%s=%.*s ", mg_rows_column(rows, column),
                     value.data == NULL ? 1 : (int)value.len, value.data == NULL ? "-" : value.data);
        }
    }
    answered(rig, err);
}

const char *rig_report(struct rig *rig, enum mg_report which, const char *const *params, int count)
{
    mg_store_report(rig->store, which, params, count, on_rows, rig);
    rig_wait_answer(rig);
    ck_assert_msg(rig->err.class == MG_OK, "%s", rig->err.text);
    return rig->text;
}

void assert_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

void order_make(struct mg_order_record *record, const char *order_id)
{
    memset(record, 0, sizeof(*record));
    snprintf(record->order_id, sizeof(record->order_id), "%s", order_id);
    snprintf(record->workflow, sizeof(record->workflow), "fulfilment");
    record->workflow_version = 1;
    record->revision = 1;
    record->payload = mg_slice_of("{\"price\":14.00}");
    record->created_at_ms = mg_clock_wall_ms();
    record->order.version = 1;
    record->order.step_count = 1;
    record->step_names[0] = "reserve";
    record->services[0] = "inventory";
}

struct mg_order_write write_make(const struct mg_order_record *record, uint64_t expected_version,
                                 struct mg_event_record *event, const char *cause)
{
    *event = (struct mg_event_record){
        .version = record->order.version,
        .cause_kind = expected_version == 0 ? MG_CAUSE_SUBMITTED : MG_CAUSE_REPLY,
        .cause = mg_slice_of(cause),
        .by = mg_slice_of("test"),
        .transitions = mg_slice_of("[]"),
    };
    return (struct mg_order_write){.record = record,
                                   .expected_version = expected_version,
                                   .events = event,
                                   .event_count = 1,
                                   .locked_by = "test:1"};
}

void order_store(struct rig *rig, struct mg_order_record *record, const struct mg_step *step)
{
    struct mg_event_record event;
    struct mg_order_write write = write_make(record, 0, &event, "m-1");
    if (step != NULL) {
        record->order.steps[0] = *step;
        write.changed_steps = 1;
    }
    rig_commit(rig, &write, 1);
    ck_assert_msg(rig->err.class == MG_OK && write.result == MG_WRITE_DONE, "%s%s", rig->err.text,
                  write.text);
}
