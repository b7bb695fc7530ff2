/*
 * Writes any number of orders in one transaction, each guarded by its version (law 4, version guard): all are
 * stored or none is.
 *
 * One failed guard undoes all its neighbours. Then a query finds the orders with a failed guard, their
 * callers get the result, and the others are written without them. Any other refusal, of any SQLSTATE,
 * undoes all, too, and names no order. So a refused batch is halved until the refused order stands alone. If
 * the store then works for others (store/witness.c) and refuses the order again, the order is refused. If it
 * refuses the witness, it may still take other orders, which write less: the order is put off until one of
 * them is written, and is refused if it fails after that. Then the fault is not the order's alone, so it
 * counts as passing. If none is written, the whole commit fails. A guard may fail in the write and hold in
 * the query, because its order has just left for the archive. So an order that stands alone is tried again
 * before it is given up. After a deadlock the write is repeated a few times. After a lost session it is not:
 * the commit may have happened, so the caller must load and decide anew, which the version makes safe. A
 * repetition never uses another session than the first try: after a failover that lost commits, the same
 * version may have other content.
 *
 * If the store works for others, locked rows are found by a query that skips them, so that one wait for a
 * lock finds them all. From then on
 * the commit waits for no lock longer than a moment, and likewise for no statement after one that ran into
 * its limit. The rest is untried when its time is over.
 *
 * A stopped writer may hold a lock in the middle of a write (SIGSTOP, a paused container). libpq gives a long
 * write to the kernel in pieces, and its first statements may have run before the last ones leave. Its
 * transaction stays open while the client sleeps. The server sees an active session, so
 * idle_in_transaction_session_timeout does not apply. statement_timeout ends with each Execute (PostgreSQL
 * 15, 20.11), and the sleeper's kernel still answers keepalives. So a writer that waited in vain ends such
 * sessions before it tries again; their clients see a lost session.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "core/backoff.h"
#include "io/store/schedules.h"
#include "io/store/store_private.h"

/* Deadlocks are rare, since rows are written in the order of their ids. Five in a row have another cause. */
#define TRIES_MAX    5
#define RETRY_MIN_MS 20
#define RETRY_MAX_MS 500
/* Halving leaves at most one waiting half per level; a batch has fewer than 2^32 orders. Orders that are put
 * off have a range each. */
#define HALVES_MAX 34
/* From the first refusal on: the callers of all other orders wait for so long because of a few. */
#define SEARCH_MAX_MS 5000
/* Orders put off in a row, without one that is written: then the store takes none. */
#define PUT_OFF_MAX 8
/* For so long a search that was given up counts for the commits after it: a scheduler tries again sooner,
 * with its longest pause and a search in between. Later, the fault may be another one. */
#define GIVEN_UP_MS 15000

/* SQLSTATEs of a failed guard: a statement divides by zero if rows are missing, or a new order's row already
 * exists. */
#define NOT_ALL_ROWS "22012"
#define ROW_EXISTS   "23505"
/* lock_timeout has expired. */
#define LOCK_NOT_AVAILABLE "55P03"
/* statement_timeout has expired. */
#define STATEMENT_TIMED_OUT "57014"
/* The class of a deadlock: the same write may succeed at once. */
#define ROLLED_BACK "40"

static const struct mg_sql FIND_CONFLICTS = {
    "find_conflicts",
    "SELECT i.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS i(n, order_id, expected)"
    " LEFT JOIN order_process p ON p.order_id = i.order_id WHERE coalesce(p.version, 0) <> i.expected"};

/* The orders with a signal that another order has taken. */
static const struct mg_sql FIND_TAKEN = {
    "find_taken",
    "SELECT DISTINCT i.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS i(n, signal, key, signal_id)"
    " JOIN signal_by_key k ON k.signal = i.signal AND k.key = i.key AND k.signal_id = i.signal_id WHERE k.taken_by IS NOT NULL"};

/* The orders of slots, if the schedule has made another order since they were judged, or makes another one in
 * this commit, or is gone. */
static const struct mg_sql FIND_OVERLAPS = {
    "find_overlaps",
    "SELECT i.n FROM (SELECT n, name, fired, row_number() OVER (PARTITION BY name ORDER BY n) AS place"
    "  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS t(n, name, fired)) i LEFT JOIN schedule s ON s.name = i.name"
    " WHERE s.name IS NULL OR (i.fired IS NOT NULL AND (s.fired <> i.fired OR i.place > 1))"};

/* The orders with a row that another session has locked against writes. */
static const struct mg_sql FIND_LOCKED = {
    "find_locked", "WITH orders_left AS MATERIALIZED (SELECT order_id FROM order_process"
                   "  WHERE order_id = ANY ($2::text[]) FOR NO KEY UPDATE SKIP LOCKED),"
                   " steps_left AS MATERIALIZED (SELECT order_id FROM order_step"
                   "  WHERE order_id = ANY ($2::text[]) FOR NO KEY UPDATE SKIP LOCKED)"
                   " SELECT i.n FROM unnest($1::bigint[], $2::text[]) AS i(n, order_id)"
                   " WHERE (SELECT count(*) FROM order_process p WHERE p.order_id = i.order_id)"
                   "   > (SELECT count(*) FROM orders_left l WHERE l.order_id = i.order_id)"
                   "  OR (SELECT count(*) FROM order_step s WHERE s.order_id = i.order_id)"
                   "   > (SELECT count(*) FROM steps_left l WHERE l.order_id = i.order_id)"};
#define LOCKED "another session of the database has locked its rows"

/*
 * Ends sessions of this program's other processes that have waited for their client's next message for 5 s.
 * That is the limit of idle_in_transaction_session_timeout for the sessions that it covers. Messages of one
 * call leave together, except where libpq and the kernel cut them. A role may end its own other sessions
 * (PostgreSQL 15, 9.27.2).
 */
static const struct mg_sql END_STALLED = {
    "end_stalled",
    "SELECT pid::bigint, coalesce(host(client_addr) || ':' || client_port, 'local'), pg_terminate_backend(pid)"
    " FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = current_setting('application_name')"
    " AND usename = current_user AND pid <> pg_backend_pid() AND state = 'active'"
    " AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - interval '5 s'"};

#define STATEMENTS (MG_STORE_WRITE_STATEMENTS + MG_STORE_SLOT_STATEMENTS + MG_STORE_LINE_STATEMENTS)
static_assert(STATEMENTS + 1 <= MG_PG_STATEMENTS_MAX,
              "one call sends them all, and the one that hastens them");

struct range {
    int from, to; /* indices into `sorted`, half open */
};

struct commit_job {
    struct mg_store_job base;
    struct mg_order_write *writes;
    int count;
    struct range *ranges; /* the last is the current one; owned, with the two below */
    int *sorted;          /* indices of `writes` by order id */
    bool *put_off;        /* by the index of the write */
    int range_count;
    char refusal[MG_REFUSAL_TEXT_SIZE]; /* last refusal of the current range */
    char sqlstate[MG_SQLSTATE_SIZE];
    enum mg_refusal refusal_kind;
    bool is_repeatable;     /* it was a lock or a time limit */
    struct mg_err failure;  /* the last refusal, for all of them */
    int64_t search_boot_ms; /* when the first refusal came; 0: none has */
    uint32_t tries;
    bool is_hasty;         /* waits for no lock, and for no statement, longer than a moment */
    bool is_patient;       /* a statement may nevertheless take its whole time */
    bool has_sought;       /* locked rows were sought */
    bool has_witness;      /* the store works for others, seen since the current order was refused alone */
    int put_off_count;     /* since an order was written */
    bool is_other_written; /* since the first refusal, here or in a commit shortly before */
    uint64_t losses;       /* the store's count of losses at the first try */
    int turns_at;          /* the statement with the rows of turns that have come; -1: none */
    struct mg_timer *retry;
    mg_store_done_fn *done;
};

static void run_next(struct commit_job *job);
static void on_retry(void *arg);

/* ---- running ---- */

static void finish_job(struct mg_store_job *base)
{
    struct commit_job *job = (struct commit_job *)base;
    mg_timer_destroy(job->retry);
    free(job->ranges);
}

static void answer(struct commit_job *job, const struct mg_err *err)
{
    mg_store_job_detach(&job->base);
    job->done(job->base.arg, err);
    mg_store_job_destroy(&job->base);
}

/* True: it will be tried again. */
static bool retry_later(struct commit_job *job)
{
    if (job->tries >= TRIES_MAX) {
        return false;
    }
    if (job->retry == NULL) {
        job->retry = mg_timer_create(job->base.store->loop, on_retry, job);
    }
    if (job->retry == NULL) {
        return false;
    }
    mg_timer_start(job->retry, mg_backoff_ms(RETRY_MIN_MS, RETRY_MAX_MS, job->tries, -1, mg_random_u64()), 0);
    job->tries++;
    return true;
}

static bool was_given_up(const struct mg_store *store)
{
    return store->given_up_boot_ms != 0 && mg_clock_boot_ms() - store->given_up_boot_ms <= GIVEN_UP_MS;
}

/* The rest is left untried. If nothing is settled, the whole commit has failed. */
static void end_early(struct commit_job *job)
{
    bool is_any_settled = false;
    for (int i = 0; i < job->count; i++) {
        is_any_settled = is_any_settled || job->writes[i].result != MG_WRITE_UNTRIED;
    }
    if (!is_any_settled) {
        job->base.store->given_up_boot_ms = mg_clock_boot_ms();
        job->base.store->is_written_since = false;
    }
    answer(job, is_any_settled ? NULL : &job->failure);
}

/* The order that stands alone goes after all others. */
static void put_off(struct commit_job *job)
{
    int last = --job->range_count;
    struct range range = job->ranges[last];
    job->put_off[job->sorted[range.from]] = true;
    job->tries = 0;
    bool is_last = last == 0 && !job->is_other_written;
    if (is_last || ++job->put_off_count >= PUT_OFF_MAX) {
        end_early(job);
        return;
    }
    memmove(&job->ranges[1], &job->ranges[0], (size_t)last * sizeof(job->ranges[0]));
    job->ranges[0] = range;
    job->range_count++;
    run_next(job);
}

/* The order that stands alone was refused before and after the witness, or another order. */
static void refuse(struct commit_job *job)
{
    struct mg_order_write *write = &job->writes[job->sorted[job->ranges[--job->range_count].from]];
    write->result = MG_WRITE_REFUSED;
    write->refusal = job->refusal_kind;
    memcpy(write->text, job->refusal, sizeof(write->text));
    memcpy(write->sqlstate, job->sqlstate, sizeof(write->sqlstate));
    job->has_witness = false;
    job->tries = 0;
    run_next(job);
}

static void on_witness(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    if (reply->fault == MG_PG_LOST) {
        struct mg_err err;
        answer(job, mg_store_error(reply, "write orders", &err));
        return;
    }
    if (mg_store_witness_holds(reply)) {
        job->has_witness = true; /* the fault of all may just have ended: the order is tried once more */
        run_next(job);
    } else if (job->is_other_written) {
        job->refusal_kind = MG_REFUSAL_PASSING;
        refuse(job);
    } else {
        put_off(job);
    }
}

/* Halves the current range: one of its orders may be the cause, but the error does not name it. */
static void split(struct commit_job *job)
{
    struct range range = job->ranges[job->range_count - 1];
    if (range.to - range.from == 1) {
        bool is_put_off = job->put_off[job->sorted[range.from]];
        if (job->has_witness) {
            refuse(job);
        } else if (is_put_off && job->is_other_written) {
            job->refusal_kind = MG_REFUSAL_PASSING;
            refuse(job);
        } else if (is_put_off) {
            end_early(job);
        } else {
            mg_store_witness_send(job->base.store, on_witness, job);
        }
        return;
    }
    job->tries = 0;
    int middle = range.from + (range.to - range.from) / 2;
    struct range left = {range.from, middle}, right = {middle, range.to};
    bool is_right_first =
        was_given_up(job->base.store) && mg_random_u64() % 2 == 0; /* or the same ones again */
    assert(job->range_count + 1 <= job->count + HALVES_MAX);
    job->ranges[job->range_count - 1] = is_right_first ? left : right;
    job->ranges[job->range_count++] = is_right_first ? right : left;
    run_next(job);
}

/* The orders of the answer leave the current range with `result`; the others stay in order. False: the answer
 * is not to be understood, and the job is answered. */
static bool take_out(struct commit_job *job, const struct mg_rows *rows, enum mg_write_result result)
{
    struct range *range = &job->ranges[job->range_count - 1];
    struct mg_err err;
    for (int row = 0; row < mg_rows_count(rows); row++) {
        int index = mg_store_index_of(rows, row, job->count, &err);
        if (index < 0) {
            (void)mg_err_prefix(&err, "cannot determine which orders were written");
            answer(job, &err);
            return false;
        }
        job->writes[index].result = result;
    }
    int left = range->from;
    for (int i = range->from; i < range->to; i++) {
        if (job->writes[job->sorted[i]].result != result) {
            job->sorted[left++] = job->sorted[i];
        }
    }
    range->to = left;
    return true;
}

static bool has_taken(const struct commit_job *job)
{
    const struct range range = job->ranges[job->range_count - 1];
    for (int i = range.from; i < range.to; i++) {
        if (job->writes[job->sorted[i]].taken_count > 0) {
            return true;
        }
    }
    return false;
}

/* The answer to a question about the orders of the current range; `next`: asked if all of them are as they
 * should be. */
static void conflicts_found(struct commit_job *job, const struct mg_pg_answer *reply,
                            void (*next)(struct commit_job *job))
{
    const struct range range = job->ranges[job->range_count - 1];
    if (reply->fault == MG_PG_RETRY && retry_later(job)) {
        return;
    }
    if (reply->fault != MG_PG_NONE) {
        struct mg_err err;
        answer(job, mg_store_error(reply, "read the versions of orders", &err));
        return;
    }
    if (!take_out(job, reply->rows[0], MG_WRITE_CONFLICT)) {
        return;
    }
    int left = job->ranges[job->range_count - 1].to;
    if (left == range.to && next != NULL) {
        next(job);
        return;
    }
    if (left == range.to) {
        /* All guards hold: another cause, or the order in conflict has left for the archive since. */
        if (range.to - range.from > 1 || !retry_later(job)) {
            split(job);
        }
        return;
    }
    job->range_count -= left == range.from ? 1 : 0;
    run_next(job);
}

static bool has_slot(const struct commit_job *job)
{
    const struct range range = job->ranges[job->range_count - 1];
    for (int i = range.from; i < range.to; i++) {
        if (job->writes[job->sorted[i]].slot != NULL) {
            return true;
        }
    }
    return false;
}

static void on_overlaps(void *arg, const struct mg_pg_answer *reply)
{
    conflicts_found(arg, reply, NULL);
}

static void ask_overlaps(struct commit_job *job)
{
    const struct range range = job->ranges[job->range_count - 1];
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int n = mg_pg_add_array(&params, MG_PG_INT), name = mg_pg_add_array(&params, MG_PG_TEXT),
        fired = mg_pg_add_array(&params, MG_PG_INT);
    for (int i = range.from; i < range.to; i++) {
        const struct mg_slot_write *slot = job->writes[job->sorted[i]].slot;
        if (slot != NULL) {
            mg_pg_push_int(&params, n, job->sorted[i]);
            mg_pg_push_text(&params, name, mg_slice_of(slot->schedule));
            if (slot->is_exclusive) {
                mg_pg_push_int(&params, fired, slot->fired);
            } else {
                mg_pg_push_null(&params, fired);
            }
        }
    }
    mg_store_send_one(job->base.store, &FIND_OVERLAPS, &params, on_overlaps, job);
}

static void on_taken(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    conflicts_found(job, reply, has_slot(job) ? ask_overlaps : NULL);
}

static void ask_taken(struct commit_job *job)
{
    const struct range range = job->ranges[job->range_count - 1];
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int n = mg_pg_add_array(&params, MG_PG_INT), signal = mg_pg_add_array(&params, MG_PG_TEXT),
        key = mg_pg_add_array(&params, MG_PG_TEXT), signal_id = mg_pg_add_array(&params, MG_PG_TEXT);
    for (int i = range.from; i < range.to; i++) {
        const struct mg_order_write *write = &job->writes[job->sorted[i]];
        for (int j = 0; j < write->taken_count; j++) {
            mg_pg_push_int(&params, n, job->sorted[i]);
            mg_pg_push_text(&params, signal, write->taken[j].signal);
            mg_pg_push_text(&params, key, write->taken[j].key);
            mg_pg_push_text(&params, signal_id, write->taken[j].signal_id);
        }
    }
    mg_store_send_one(job->base.store, &FIND_TAKEN, &params, on_taken, job);
}

static void on_conflicts(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    conflicts_found(job, reply, has_taken(job) ? ask_taken : has_slot(job) ? ask_overlaps : NULL);
}

static void on_locks(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    const struct range range = job->ranges[job->range_count - 1];
    if (reply->fault != MG_PG_NONE) {
        split(job); /* whole tables are locked, for example: the next writes fail at once */
        return;
    }
    if (!take_out(job, reply->rows[0], MG_WRITE_REFUSED)) {
        return;
    }
    int left = job->ranges[job->range_count - 1].to;
    if (left == range.to) {
        split(job); /* another kind of lock */
        return;
    }
    for (int row = 0; row < mg_rows_count(reply->rows[0]); row++) {
        struct mg_order_write *write = &job->writes[mg_rows_int(reply->rows[0], row, 0)];
        write->refusal = MG_REFUSAL_PASSING;
        (void)snprintf(write->text, sizeof(write->text), "%s (%s)", LOCKED, LOCK_NOT_AVAILABLE);
        (void)snprintf(write->sqlstate, sizeof(write->sqlstate), "%s", LOCK_NOT_AVAILABLE);
    }
    job->range_count -= left == range.from ? 1 : 0;
    run_next(job);
}

/* Asks about the orders of the current range. */
static void ask(struct commit_job *job, const struct mg_sql *sql, mg_pg_fn *fn)
{
    struct range range = job->ranges[job->range_count - 1];
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int n = mg_pg_add_array(&params, MG_PG_INT), order_id = mg_pg_add_array(&params, MG_PG_TEXT);
    int expected = sql == &FIND_CONFLICTS ? mg_pg_add_array(&params, MG_PG_INT) : -1;
    for (int i = range.from; i < range.to; i++) {
        const struct mg_order_write *write = &job->writes[job->sorted[i]];
        mg_pg_push_int(&params, n, job->sorted[i]);
        mg_pg_push_text(&params, order_id, mg_slice_of(write->record->order_id));
        if (expected >= 0) {
            mg_pg_push_int(&params, expected, (int64_t)write->expected_version);
        }
    }
    mg_store_send_one(job->base.store, sql, &params, fn, job);
}

/* If a whole table is locked, the rows that other waiting writers have locked are no orders' fault. */
static void on_lock_witness(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    struct mg_err err;
    if (reply->fault == MG_PG_LOST) {
        answer(job, mg_store_error(reply, "write orders", &err));
    } else if (mg_store_witness_holds(reply)) {
        ask(job, &FIND_LOCKED, on_locks);
    } else {
        split(job);
    }
}

static void on_stalled_ended(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    int ended = 0;
    for (int row = 0; reply->fault == MG_PG_NONE && row < mg_rows_count(reply->rows[0]); row++) {
        if (!mg_rows_bool(reply->rows[0], row, 2)) {
            continue; /* it had already ended */
        }
        char client[64]; /* an address and a port */
        mg_rows_copy(reply->rows[0], row, 1, client, sizeof(client));
        mg_log(MG_LOG_WARN, "terminated a database session that was stalled during a write",
               MG_LOG_NUMBER("backend", mg_rows_int(reply->rows[0], row, 0)), MG_LOG_TEXT("client", client));
        ended++;
    }
    if (ended == 0 || !retry_later(job)) {
        mg_store_witness_send(job->base.store, on_lock_witness, job);
    }
}

static void note_refusal(struct commit_job *job, const struct mg_pg_answer *reply)
{
    if (job->search_boot_ms == 0) {
        job->search_boot_ms = mg_clock_boot_ms();
    }
    (void)mg_store_error(reply, "write orders", &job->failure);
    job->refusal_kind = mg_store_refusal_of(reply->fault);
    (void)snprintf(job->sqlstate, sizeof(job->sqlstate), "%s", reply->sqlstate);
    (void)snprintf(job->refusal, sizeof(job->refusal), "%.*s", (int)sizeof(job->refusal) - 1,
                   reply->err->text);
}

static void on_refused(struct commit_job *job, const struct mg_pg_answer *reply)
{
    bool may_be_conflict =
        strcmp(reply->sqlstate, NOT_ALL_ROWS) == 0 || strcmp(reply->sqlstate, ROW_EXISTS) == 0;
    bool is_locked = strcmp(reply->sqlstate, LOCK_NOT_AVAILABLE) == 0;
    bool is_slow = strcmp(reply->sqlstate, STATEMENT_TIMED_OUT) == 0;
    bool is_rolled_back = strncmp(reply->sqlstate, ROLLED_BACK, strlen(ROLLED_BACK)) == 0;
    if (is_rolled_back && retry_later(job)) {
        return;
    }
    note_refusal(job, reply);
    job->is_hasty = job->is_hasty || is_slow;
    job->is_patient = job->is_patient && !is_slow;
    if (may_be_conflict) {
        ask(job, &FIND_CONFLICTS, on_conflicts);
    } else if (is_locked && !job->has_sought) {
        job->is_hasty = job->has_sought = true;
        mg_store_send_one(job->base.store, &END_STALLED, NULL, on_stalled_ended, job);
    } else {
        split(job);
    }
}

static void on_written(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    struct range range = job->ranges[job->range_count - 1];
    if (reply->fault == MG_PG_LOST) {
        struct mg_err err;
        answer(job, mg_store_error(reply, "write orders", &err));
        return;
    }
    if (reply->fault != MG_PG_NONE) {
        on_refused(job, reply);
        return;
    }
    job->base.store->standby[0] = '\0';
    for (int i = range.from; i < range.to; i++) {
        job->writes[job->sorted[i]].result = MG_WRITE_DONE;
    }
    if (job->turns_at >= 0) {
        mg_store_lines_take(reply->rows[job->turns_at], job->writes, job->count);
    }
    job->range_count--;
    job->tries = 0;
    job->has_witness = false;
    job->put_off_count = 0;
    job->is_other_written = job->is_other_written || job->search_boot_ms != 0;
    job->base.store->is_written_since = true;
    run_next(job);
}

static void run_next(struct commit_job *job)
{
    if (job->range_count == 0) {
        answer(job, NULL);
        return;
    }
    if (job->search_boot_ms != 0 && mg_clock_boot_ms() - job->search_boot_ms >= SEARCH_MAX_MS) {
        end_early(job);
        return;
    }
    struct range range = job->ranges[job->range_count - 1];
    struct mg_store_write write;
    struct mg_store_lines lines;
    struct mg_pg_statement statements[STATEMENTS + 1];
    int count = 0;
    mg_store_write_begin(&write);
    mg_store_lines_begin(&lines);
    for (int i = range.from; i < range.to; i++) {
        mg_store_write_add(&write, &job->writes[job->sorted[i]]);
        mg_store_lines_add(&lines, job->sorted[i], &job->writes[job->sorted[i]]);
    }
    if (job->is_hasty) {
        const struct mg_sql *hasten = job->is_patient ? &MG_STORE_HASTEN_LOCKS : &MG_STORE_HASTEN;
        statements[count++] = (struct mg_pg_statement){hasten, NULL};
    }
    count += mg_store_write_list(&write, &statements[count]);
    int line_count = mg_store_lines_list(&lines, &statements[count]);
    count += line_count;
    job->turns_at = line_count > 0 ? count - 1 : -1;
    mg_store_send(job->base.store, statements, count, on_written, job);
    mg_store_write_finish(&write);
    mg_store_lines_finish(&lines);
}

static void on_retry(void *arg)
{
    struct commit_job *job = arg;
    struct mg_store *store = job->base.store;
    if (job->losses != store->losses) {
        mg_pg_refuse(store->pg, MG_PG_LOST, "the database session in which it began was lost", on_written,
                     job);
        return;
    }
    run_next(job);
}

static int compare_by_order_id(const void *a, const void *b, void *arg)
{
    const struct mg_order_write *writes = arg;
    return strcmp(writes[*(const int *)a].record->order_id, writes[*(const int *)b].record->order_id);
}

static void on_no_writes(void *arg, const struct mg_pg_answer *reply)
{
    (void)reply; /* no statement was sent: an empty batch is done */
    answer(arg, NULL);
}

static void on_no_memory(void *arg, const struct mg_pg_answer *reply)
{
    answer(arg, reply->err);
}

void mg_store_commit(struct mg_store *store, struct mg_order_write *writes, int count, mg_store_done_fn *done,
                     void *arg)
{
    struct commit_job *job = mg_store_job_create(store, sizeof(*job), NULL, arg, finish_job);
    job->writes = writes;
    job->count = count;
    job->losses = store->losses;
    job->done = done;
    if (count == 0) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "", on_no_writes, job);
        return;
    }
    size_t range_count = (size_t)count + HALVES_MAX;
    size_t each = sizeof(*job->sorted) + sizeof(*job->put_off);
    job->ranges = malloc(range_count * sizeof(*job->ranges) + (size_t)count * each);
    if (job->ranges == NULL) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "could not write orders: no memory", on_no_memory, job);
        return;
    }
    job->sorted = (int *)&job->ranges[range_count];
    job->put_off = (bool *)&job->sorted[count];
    for (int i = 0; i < count; i++) {
        job->sorted[i] = i;
        job->put_off[i] = false;
        writes[i].result = MG_WRITE_UNTRIED;
        writes[i].text[0] = '\0';
        writes[i].turn.order_id[0] = '\0';
    }
    job->is_hasty = writes[0].is_hasty;
    job->is_patient = writes[0].is_patient;
    /* Orders that are refused and orders that are written may come in commits of their own. */
    job->is_other_written = store->is_written_since && was_given_up(store);
    /* Every writer takes the rows in this order, so two batches cannot deadlock. */
    qsort_r(job->sorted, (size_t)count, sizeof(*job->sorted), compare_by_order_id, writes);
    job->ranges[job->range_count++] = (struct range){0, count};
    run_next(job);
}
