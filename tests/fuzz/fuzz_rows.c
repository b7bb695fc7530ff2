/*
 * Rows of a database, or of a pooler in front of it, as the store reads them in a session that is begun and
 * checked. They are due work, bulk actions, the lead, services and the outcome of writes. Orders and events
 * are in fuzz_database.c too.
 *
 * The input is a byte for the number of rows of each statement, then a byte for the refused calls. The texts
 * of the cells follow, each before a NUL; \1 is SQL NULL. No enum, number or text leaves its bounds, and each
 * call has one answer.
 */
#include <stdlib.h>

#include "core/bulk_plan.h"
#include "core/key.h"
#include "fuzz.h"
#include "io/pg/libpq.h"
#include "io/store/bulk.h"
#include "io/store/owed.h"
#include "io/store/retention.h"
#include "io/store/store.h"

#define TRIES_MAX    32 /* more than the attempts of any write, alone and with others */
#define PATIENCE_MS  100
#define COLUMNS      30 /* more than any statement reads */
#define CELLS_MAX    64
#define CELL_LEN_MAX 1024 /* twice the longest text that a caller has room for */
#define CALLS_MAX    32
#define BACKEND      7
#define WRITES       3 /* in one commit */

static struct {
    char *cells[CELLS_MAX];
    int cell_count, row_count, next; /* next: index of the next cell; cells are used in a cycle */
    int refusal;                     /* 0: none; else every second call fails as REFUSALS lists */
} world;

/* ---- the session: every row comes from the input ---- */

struct mg_pg {
    struct mg_pg_options options;
    struct call {
        mg_pg_fn *fn;
        void *arg;
        int count;
    } calls[CALLS_MAX];
    int call_count, answers;
    bool is_dropped;
    struct mg_loop *running; /* until the next statement is sent */
};
static struct mg_pg session;

enum mg_class mg_pg_create(struct mg_loop *loop, const struct mg_pg_options *options, struct mg_pg **ret_pg,
                           struct mg_err *err)
{
    (void)loop, (void)err;
    session = (struct mg_pg){.options = *options};
    *ret_pg = &session;
    return MG_OK;
}

void mg_pg_destroy(struct mg_pg *pg)
{
    (void)pg;
}

enum mg_class mg_pg_set_dsn(struct mg_pg *pg, const char *dsn, struct mg_err *err)
{
    (void)pg, (void)dsn, (void)err;
    return MG_OK;
}

void mg_pg_drop(struct mg_pg *pg, const char *reason)
{
    FUZZ_REQUIRE(reason[0] != '\0');
    pg->is_dropped = true;
}

int mg_pg_backend_pid(const struct mg_pg *pg)
{
    (void)pg;
    return BACKEND;
}

void mg_pg_send(struct mg_pg *pg, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                void *arg)
{
    (void)statements;
    FUZZ_REQUIRE(pg->call_count < CALLS_MAX && count > 0 && count <= MG_PG_STATEMENTS_MAX);
    pg->calls[pg->call_count++] = (struct call){fn, arg, count};
    if (session.running != NULL) {
        mg_loop_stop(session.running);
    }
}

void mg_pg_refuse(struct mg_pg *pg, enum mg_pg_fault fault, const char *reason, mg_pg_fn *fn, void *arg)
{
    FUZZ_REQUIRE(fault != MG_PG_NONE && reason[0] != '\0' && pg->call_count < CALLS_MAX);
    pg->calls[pg->call_count++] = (struct call){fn, arg, 0};
}

static struct mg_rows rows_make(void)
{
    struct mg_rows rows = {PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK)};
    PGresAttDesc columns[COLUMNS];
    char name[] = "column";
    memset(columns, 0, sizeof(columns));
    for (int i = 0; i < COLUMNS; i++) {
        columns[i].name = name;
    }
    FUZZ_REQUIRE(rows.result != NULL && PQsetResultAttrs(rows.result, COLUMNS, columns) != 0);
    for (int i = 0; i < world.row_count * COLUMNS; i++) {
        char *cell = world.cells[world.next++ % world.cell_count];
        bool is_null = strcmp(cell, "\1") == 0;
        FUZZ_REQUIRE(PQsetvalue(rows.result, i / COLUMNS, i % COLUMNS, is_null ? NULL : cell,
                                is_null ? -1 : (int)strlen(cell)) != 0);
    }
    return rows;
}

static const char *const REFUSALS[] = {NULL, "22012", "23505", "22023"};

static void call_answer(const struct call *call)
{
    static const struct mg_err away = {.class = MG_TRANSIENT, .text = "the database is away"};
    static const struct mg_err wrong = {.class = MG_BAD_INPUT, .text = "the database does not want it"};
    struct mg_rows rows[MG_PG_STATEMENTS_MAX];
    struct mg_pg_answer answer = {.fault = MG_PG_NONE, .sqlstate = ""};
    for (int i = 0; i < call->count; i++) {
        rows[i] = rows_make();
        answer.rows[i] = &rows[i];
    }
    if (call->count == 0) {
        answer.err = &away;
        answer.fault = MG_PG_BUSY;
    } else if (world.refusal > 0 && session.answers++ % 2 == 1) {
        answer.err = &wrong;
        answer.fault = MG_PG_DATA;
        answer.sqlstate = REFUSALS[world.refusal];
    }
    call->fn(call->arg, &answer);
    for (int i = 0; i < call->count; i++) {
        PQclear(rows[i].result);
    }
}

/* Answers the open statements, and those that follow from the answers. */
static void answer_all(void)
{
    for (int i = 0; i < session.call_count; i++) {
        const struct call call = session.calls[i];
        call_answer(&call);
    }
    session.call_count = 0;
}

/* ---- retries: at once ---- */

void __real_mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms);
void __wrap_mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms);
void __wrap_mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    (void)after_ms;
    __real_mg_timer_start(timer, 0, repeat_ms);
}

static void tries_end(void *arg)
{
    mg_loop_stop(arg);
}

/* Runs the loop until the next statement, or for so long that none can follow. */
static void try_again(struct mg_loop *loop)
{
    struct mg_timer *patience = mg_timer_create(loop, tries_end, loop);
    FUZZ_REQUIRE(patience != NULL);
    __real_mg_timer_start(patience, PATIENCE_MS, 0);
    session.running = loop;
    mg_loop_run(loop);
    session.running = NULL;
    mg_timer_destroy(patience);
    answer_all();
}

/* ---- callers ---- */

static int asked, answered;

static void is_answer(const struct mg_err *err)
{
    answered++;
    FUZZ_REQUIRE(err == NULL || (err->class != MG_OK && err->text[0] != '\0'));
}

#define IS_TEXT(array) FUZZ_REQUIRE(memchr((array), '\0', sizeof(array)) != NULL)

static void on_swept(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE(answer == NULL || (answer->due_count >= 0 && answer->due_count <= world.row_count));
    for (int i = 0; answer != NULL && i < answer->due_count; i++) {
        const struct mg_due *due = &answer->dues[i];
        FUZZ_REQUIRE(due->ask < MG_CAUSE_COUNT);
        IS_TEXT(due->order_id);
        IS_TEXT(due->step);
    }
}

static void on_parked(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE(answer == NULL || answer->due_count + answer->queue_count <= world.row_count);
    for (int i = 0; answer != NULL && i < answer->due_count; i++) {
        IS_TEXT(answer->dues[i].order_id);
        IS_TEXT(answer->dues[i].step);
    }
    for (int i = 0; answer != NULL && i < answer->queue_count; i++) {
        IS_TEXT(answer->queues[i].service);
        FUZZ_REQUIRE(answer->queues[i].asked <= answer->due_count);
    }
}

static void on_owed(void *arg, bool is_leader, const struct mg_due *dues, int count, const struct mg_err *err)
{
    (void)arg, (void)is_leader;
    is_answer(err);
    FUZZ_REQUIRE(count >= 0 && count <= world.row_count);
    for (int i = 0; i < count; i++) {
        IS_TEXT(dues[i].order_id);
    }
}

static void on_marked(void *arg, const struct mg_given_up *given_up, int count, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    for (int i = 0; i < count; i++) {
        IS_TEXT(given_up[i].queue);
    }
}

static void on_bulk(void *arg, const struct mg_bulk_look *found, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE((found == NULL) == (err != NULL));
    for (int i = 0; found != NULL && i < found->count; i++) {
        const struct mg_bulk_row *row = &found->rows[i];
        IS_TEXT(row->bulk_id);
        IS_TEXT(row->reason);
        IS_TEXT(row->by);
        FUZZ_REQUIRE(row->verb < MG_CAUSE_COUNT && row->bulk.state < MG_BULK_STATE_COUNT);
        FUZZ_REQUIRE(row->bulk.spacing_us >= 1);
        const struct mg_bulk_plan plan = mg_bulk_plan(&row->bulk);
        FUZZ_REQUIRE(plan.state < MG_BULK_STATE_COUNT && plan.ask >= 0);
    }
    for (int i = 0; found != NULL && i < found->order_count; i++) {
        const struct mg_bulk_order_row *row = &found->orders[i];
        IS_TEXT(row->order_id);
        IS_TEXT(row->cause);
        FUZZ_REQUIRE(row->bulk >= 0 && row->bulk < found->count);
        FUZZ_REQUIRE(mg_bulk_judge(&row->order) < MG_BULK_RESULT_COUNT);
    }
}

static void on_started(void *arg, const struct mg_bulk_started *started, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE((started == NULL) == (err != NULL));
    if (started == NULL) {
        return;
    }
    IS_TEXT(started->bulk_id);
    FUZZ_REQUIRE(started->state < MG_BULK_STATE_COUNT);
}

static void on_change_result(void *arg, enum mg_change_result result, uint64_t version,
                             const struct mg_err *err)
{
    (void)arg, (void)version;
    is_answer(err);
    FUZZ_REQUIRE(result == MG_CHANGE_DONE || result == MG_CHANGE_CONFLICT || result == MG_CHANGE_NOT_FOUND);
}

static void on_bulk_written(void *arg, const struct mg_bulk_written *written, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE((written == NULL) == (err != NULL));
}

static void on_retired(void *arg, const struct mg_retire_answer *answer, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE((answer == NULL) == (err != NULL));
    if (answer == NULL) {
        return;
    }
    IS_TEXT(answer->failure);
    FUZZ_REQUIRE(answer->outcome <= MG_RETIRE_NO_PARTITION);
}

static void on_lead(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE((answer == NULL) == (err != NULL));
    FUZZ_REQUIRE(answer == NULL || !answer->is_leader || answer->refusal == NULL);
}

static void on_woken(void *arg, bool is_leader, bool is_full, const struct mg_err *err)
{
    (void)arg, (void)is_leader, (void)is_full;
    is_answer(err);
}

static void on_acked(void *arg, int64_t alerts, const struct mg_err *err)
{
    (void)arg, (void)alerts;
    is_answer(err);
}

static void on_changed(void *arg, bool is_changed, const struct mg_err *err)
{
    (void)arg, (void)is_changed;
    is_answer(err);
}

static void on_counted(void *arg, int64_t parked, bool is_avoided, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    FUZZ_REQUIRE(err == NULL || (parked == 0 && !is_avoided));
}

static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    (void)arg, (void)version;
    is_answer(err);
    FUZZ_REQUIRE(found || definition.data == NULL);
}

static void on_alerts(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    (void)arg, (void)is_changed;
    is_answer(err);
    FUZZ_REQUIRE(err != NULL || count == 1);
}

static void on_written(void *arg, const struct mg_err *err)
{
    const struct mg_order_write *writes = arg;
    is_answer(err);
    for (int i = 0; i < WRITES; i++) {
        FUZZ_REQUIRE(writes[i].result <= MG_WRITE_UNTRIED);
        IS_TEXT(writes[i].text);
    }
}

static void on_loaded(void *arg, const struct mg_load_answer *answer, const struct mg_err *err)
{
    (void)arg;
    is_answer(err);
    for (int i = 0; err == NULL && i < answer->service_count; i++) {
        IS_TEXT(answer->services[i].service);
        FUZZ_REQUIRE(answer->services[i].gate < MG_REASON_COUNT);
    }
}

/* ---- the calls ---- */

static void commit(struct mg_store *store)
{
    static const struct mg_order_record records[WRITES] = {{.order_id = "o-1", .order.version = 1},
                                                           {.order_id = "o-2", .order.version = 1},
                                                           {.order_id = "o-3", .order.version = 1}};
    static const struct mg_event_record event = {
        .version = 1, .cause = {"c", 1}, .by = {"b", 1}, .transitions = {"[]", 2}};
    static struct mg_order_write writes[WRITES];
    for (int i = 0; i < WRITES; i++) {
        writes[i] = (struct mg_order_write){
            .record = &records[i], .events = &event, .event_count = 1, .locked_by = "h"};
    }
    mg_store_commit(store, writes, WRITES, on_written, writes);
    asked++;
}

static void ask_everything(struct mg_store *store, struct mg_arena *arena)
{
    static const struct mg_load load = {.order_id = "o-1", .wants_sent_status = true};
    static const struct mg_sweep_options sweep = {.epoch = 1, .holder = "h", .limit = 10, .step_limit = 10};
    static const struct mg_parked_room room = {"service", false, 10};
    static const struct mg_parked_options parked = {
        .epoch = 1, .holder = "h", .rooms = &room, .room_count = 1};
    static const struct mg_ask_owed ask_owed = {.epoch = 1, .holder = "h", .limit = 10};
    static const struct mg_owed mark = {
        .order_id = "o-1", .version = 1, .is_owed = true, .is_retry = true, .reply_to = "q"};
    static const struct mg_bulk_row row = {.bulk_id = "b"};
    static const struct mg_bulk_write write = {.row = &row};
    static const struct mg_bulk_start start = {
        .bulk_id = "b", .verb = MG_CAUSE_RESUME, .filter = {"", "", "", "", "", "", ""}, .rate_per_s = "1"};
    static const struct mg_bulk_change change = {.bulk_id = "b"};
    static const struct mg_service_setting setting = {.service = "s", .reason = "why", .by = "who"};
    static const struct mg_alert_ack ack = {.alert_id = 7, .by = "who", .reason = "why"};
    static const struct mg_alert_write alert = {.subject = "s", .order_id = "", .is_closed = true};
    mg_store_load(store, arena, &load, 1, on_loaded, NULL);
    mg_store_sweep(store, &sweep, on_swept, NULL);
    mg_store_ask_parked(store, &parked, on_parked, NULL);
    mg_store_ask_owed(store, &ask_owed, on_owed, NULL);
    mg_store_mark_owed(store, &mark, 1, 1000, on_marked, NULL);
    mg_store_look_at_bulk(store, on_bulk, NULL);
    mg_store_start_bulk(store, &start, on_started, NULL);
    mg_store_change_bulk(store, &change, on_change_result, NULL);
    mg_store_write_bulk(store, &write, on_bulk_written, NULL);
    mg_store_keep_bulk(store, on_changed, NULL);
    mg_store_put_setting(store, &setting, on_change_result, NULL);
    mg_store_retire(store, 1, "h", 10, on_retired, NULL);
    mg_store_try_lead(store, "h", on_lead, NULL);
    mg_store_wake(store, 1, "h", 10, on_woken, NULL);
    mg_store_ack_alert(store, &ack, on_acked, NULL);
    mg_store_get_workflow(store, "w", 0, on_workflow, NULL);
    mg_store_write_alerts(store, &alert, 1, on_alerts, NULL);
    mg_store_count_parked(store, "s", false, 10, on_counted, NULL);
    asked += 18;
}

static void world_read(struct mg_slice rest)
{
    world.row_count = rest.len > 0 ? rest.data[0] & 3 : 0;
    world.refusal = rest.len > 0 ? rest.data[0] >> 2 & 3 : 0;
    if (rest.len > 0) {
        rest = (struct mg_slice){rest.data + 1, rest.len - 1};
    }
    world.cell_count = world.next = 0;
    do {
        char *cell = world.cells[world.cell_count++] = fuzz_take_text(&rest);
        cell[strnlen(cell, CELL_LEN_MAX)] = '\0';
    } while (rest.len > 0 && world.cell_count < CELLS_MAX);
}

/* First the session's own checks get rows of the input; then a session that is up. */
static void session_begins(struct mg_store *store, const struct mg_store_options *options)
{
    char reason[MG_ERR_TEXT_MAX];
    session.options.on_connected(session.options.arg);
    answer_all();
    bool is_up = mg_store_is_up(store, reason, sizeof(reason));
    FUZZ_REQUIRE(is_up == (reason[0] == '\0'));
    FUZZ_REQUIRE(!options->skips_schema_check || is_up || session.is_dropped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_loop *loop = mg_loop_create();
    struct mg_store_options options = {
        .dsn = "", .name = "fuzz", .is_leader_session = true, .is_plaintext_allowed = true};
    struct mg_store *store = NULL;
    struct mg_arena *arena = mg_arena_create(FUZZ_TEXT_MAX);
    struct mg_err err;
    FUZZ_REQUIRE(loop != NULL);
    asked = answered = 0;
    world_read((struct mg_slice){(const char *)data, size});
    for (int trusting = 0; trusting < 2; trusting++) {
        options.skips_schema_check = options.is_unsafe_durability_allowed = trusting;
        FUZZ_REQUIRE(arena != NULL && mg_store_create(loop, &options, &store, &err) == MG_OK);
        session_begins(store, &options);
        if (trusting) {
            ask_everything(store, arena);
            commit(store);
            answer_all();
        }
        for (int tries = 0; answered < asked && tries < TRIES_MAX; tries++) {
            try_again(loop);
        }
        FUZZ_REQUIRE(answered == asked);
        mg_store_destroy(store);
    }
    mg_loop_destroy(loop);
    mg_arena_destroy(arena);
    for (int i = 0; i < world.cell_count; i++) {
        free(world.cells[i]);
    }
    return 0;
}
