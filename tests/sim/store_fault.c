/* Spontaneous faults of the simulated server, the standby that takes over, and the functions for other
 * files. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/store/store_private.h"
#include "store.h"
#include "store_server.h"

#define KEEPALIVE_US                                                                                         \
    (11 * SIM_SECOND_US) /* the server keeps a silent client's session for so long, and then ends it */
#define CLOCK_JUMP_MS     10000
#define CLOCK_FAR_JUMP_MS 3600000 /* longer than any wait after healing */
#define CLOCK_FAR_SHARE   4       /* one jump in so many */
#define CLOCK_AHEAD_MS    3600000 /* the limit, however often it jumps */

/* ---- the standby ---- */

void sim_log_add(struct sim_request *request)
{
    sim_request_hold(request);
    request->committed_us = sim_now_us();
    request->next_log = NULL;
    *(sim_server.log_first == NULL ? &sim_server.log_first : &sim_server.log_last->next_log) = request;
    sim_server.log_last = request;
}

/* ---- the standby ---- */
void sim_log_replay(int64_t until_us)
{
    while (sim_server.log_first != NULL && sim_server.log_first->committed_us <= until_us) {
        struct sim_request *request = sim_server.log_first;
        struct sim_transaction transaction = sim_transaction_of(request, sim_server.standby, NULL);
        for (int i = 0; i < request->count; i++) {
            struct sim_output output = {NULL, 0};
            if (sim_statement_of(request->sqls[i])->is_write) {
                sim_statement_run(&transaction, request->sqls[i], &request->params[i], &output);
                PQclear(output.result);
            }
        }
        assert(transaction.sqlstate[0] == '\0'); /* it was committed once, on the same rows */
        sim_transaction_end(&transaction);
        sim_server.log_first = request->next_log;
        sim_request_release(request);
    }
}

/* ---- faults ---- */

static void plan(enum sim_fault fault, sim_fn *fn)
{
    int64_t in_us = sim_next_us(fault);
    if (in_us >= 0) {
        sim_after(NULL, in_us, fn, NULL);
    }
}

static void all_end(const char *reason)
{
    for (struct sim_session *session = sim_server.sessions; session != NULL; session = session->next) {
        if (session->is_up) {
            sim_session_end(session, reason, true);
        }
    }
}

/* NULL: there is none. */
static struct sim_session *session_draw(void)
{
    uint64_t count = 0;
    for (const struct sim_session *at = sim_server.sessions; at != NULL; at = at->next) {
        count += at->is_up && !at->is_ended;
    }
    if (count == 0) {
        return NULL;
    }
    uint64_t left = sim_draw(count);
    for (struct sim_session *at = sim_server.sessions;; at = at->next) {
        if (at->is_up && !at->is_ended && left-- == 0) {
            return at;
        }
    }
}

static void on_session_killed(void *arg)
{
    struct sim_session *session = session_draw();
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    if (session != NULL) {
        sim_happened(SIM_STORE_SESSION_KILLED);
        sim_session_end(session, "terminating connection due to administrator command", true);
    }
    plan(SIM_STORE_SESSION_KILLED, on_session_killed);
}

static void on_kept_long_enough(void *arg)
{
    sim_session_end(arg, "the client does not answer", false);
}

/* The client detects it by its own watchdog, at its next call. */
static void on_session_silent(void *arg)
{
    struct sim_session *session = session_draw();
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    if (session != NULL && !session->is_silent) {
        sim_happened(SIM_STORE_SESSION_SILENT);
        sim_trace("db session %d is silent", session->pid);
        session->is_silent = true;
        sim_after(NULL, KEEPALIVE_US, on_kept_long_enough, session);
    }
    plan(SIM_STORE_SESSION_SILENT, on_session_silent);
}

static void on_up(void *arg)
{
    (void)arg;
    if (sim_server.is_down) {
        sim_trace("db up");
        sim_server.is_down = false;
    }
}

static void go_down(int64_t least_us, int64_t most_us)
{
    all_end("the database system is shutting down");
    sim_server.is_down = true;
    sim_after(NULL, sim_draw_between(least_us, most_us), on_up, NULL);
}

static void on_down(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    sim_happened(SIM_STORE_DOWN);
    go_down(SIM_SECOND_US / 2, 20 * SIM_SECOND_US);
    plan(SIM_STORE_DOWN, on_down);
}

static void on_writable(void *arg)
{
    (void)arg;
    sim_server.is_read_only = false;
}

static void on_read_only(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    sim_happened(SIM_STORE_READ_ONLY);
    sim_server.is_read_only = true;
    sim_after(NULL, sim_draw_between(SIM_SECOND_US, 15 * SIM_SECOND_US), on_writable, NULL);
    plan(SIM_STORE_READ_ONLY, on_read_only);
}

static void on_unlocked(void *arg)
{
    (void)arg;
    sim_server.locked_order[0] = '\0';
}

bool sim_store_is_locked(struct mg_slice order_id)
{
    return mg_slice_is(order_id, sim_server.locked_order);
}

static void on_row_locked(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    if (sim_server.tables->order_count > 0 && sim_server.locked_order[0] == '\0') {
        uint64_t at = sim_draw((uint64_t)sim_server.tables->order_count);
        const struct sim_order *order = sim_server.tables->orders[at];
        sim_happened(SIM_STORE_ROW_LOCKED);
        sim_trace("db %s is locked", order->record.order_id);
        (void)snprintf(sim_server.locked_order, sizeof(sim_server.locked_order), "%s",
                       order->record.order_id);
        sim_after(NULL, sim_draw_between(SIM_SECOND_US, 60 * SIM_SECOND_US), on_unlocked, NULL);
    }
    plan(SIM_STORE_ROW_LOCKED, on_row_locked);
}

static void on_taking(void *arg)
{
    (void)arg;
    sim_server.is_refusing = false;
}

static void on_refusing(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    sim_happened(SIM_STORE_REFUSES);
    sim_server.is_refusing = true;
    sim_after(NULL, sim_draw_between(SIM_SECOND_US, 30 * SIM_SECOND_US), on_taking, NULL);
    plan(SIM_STORE_REFUSES, on_refusing);
}

static void on_lagging(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    sim_happened(SIM_STORE_LAGGING);
    sim_server.lags_until_us = sim_now_us() + sim_draw_between(20 * SIM_SECOND_US, 90 * SIM_SECOND_US);
    sim_server.lags_in_sweeps = sim_draw(2) == 0;
    plan(SIM_STORE_LAGGING, on_lagging);
}

/* The mark for owed statuses does not raise the version. */
static bool has_lost(const struct sim_order *before, const struct sim_order *now)
{
    bool has = now == NULL || now->event_count < before->event_count;
    for (int i = 0; !has && i < before->event_count; i++) {
        has = now->events[i].is_owed != before->events[i].is_owed;
    }
    return has;
}

/* Bits, by event: owed before, and no longer in the remaining data. */
static uint64_t lost_marks(const struct sim_order *before, const struct sim_order *now)
{
    uint64_t lost = 0;
    for (int i = 0; now != NULL && i < now->event_count && i < 64; i++) {
        bool is_lost = before->events[i].is_owed && !now->events[i].is_owed;
        lost |= is_lost ? UINT64_C(1) << i : 0;
    }
    return lost;
}

static void tails_tell(const struct sim_tables *before)
{
    for (int i = 0; i < before->order_count; i++) {
        const struct mg_order_record *record = &before->orders[i]->record;
        const struct sim_order *now = sim_tables_find(sim_server.tables, mg_slice_of(record->order_id));
        if (has_lost(before->orders[i], now)) {
            sim_trace("db lost %s after version %d", record->order_id,
                      now == NULL ? 0 : (int)now->record.order.version);
            sim_check_tail_lost(record->order_id, now == NULL, lost_marks(before->orders[i], now));
        }
    }
}

static void on_failover(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    sim_happened(SIM_STORE_FAILOVER);
    go_down(SIM_SECOND_US / 2, 5 * SIM_SECOND_US);
    sim_log_replay(sim_now_us() - sim_draw_between(0, SIM_LAG_MAX_US));
    while (sim_server.log_first != NULL) {
        struct sim_request *lost = sim_server.log_first;
        sim_server.log_first = lost->next_log;
        sim_request_release(lost);
    }
    struct sim_tables *before = sim_server.tables;
    sim_server.tables = sim_server.standby;
    sim_server.standby = sim_tables_copy(sim_server.tables);
    tails_tell(before);
    sim_check_sweeps_lost();
    sim_tables_destroy(before);
    plan(SIM_STORE_FAILOVER, on_failover);
}

/* The clock's time if it had not been set forward. */
static int64_t unset_ms(void)
{
    return sim_server.set_from_ms + (sim_now_us() - sim_server.set_us) / 1000;
}

/* A second step forward, while moments passed by the first are still spared, extends that span: a leader adds
 * the steps up (far_clock.c). If the clock was set back below the span meanwhile, the span begins anew. */
static void set_forward_note(int64_t from_ms, int64_t to_ms)
{
    if (unset_ms() >= sim_server.set_to_ms || from_ms < unset_ms()) {
        sim_server.set_us = sim_now_us();
        sim_server.set_from_ms = from_ms;
        sim_server.set_to_ms = to_ms;
    }
    sim_server.set_to_ms = to_ms > sim_server.set_to_ms ? to_ms : sim_server.set_to_ms;
}

/* A leader detects a backward step by comparing two sweeps. One of them, perhaps of an earlier leader, saw
 * the clock ahead. */
void sim_store_set_clock(int64_t ahead_ms)
{
    if (ahead_ms < sim_server.ahead_ms && sim_server.tables->leader.swept_at_ms <= sim_true_ms() + ahead_ms) {
        sim_server.went_back_unseen = true;
    }
    if (ahead_ms > sim_server.ahead_ms) {
        set_forward_note(sim_true_ms() + sim_server.ahead_ms, sim_true_ms() + ahead_ms);
    }
    sim_server.ahead_ms = ahead_ms;
    sim_trace("db clock is %lld ms ahead", (long long)ahead_ms);
    sim_check_clock_was_set();
}

static void on_clock_jump(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    int64_t jump_ms = sim_draw(CLOCK_FAR_SHARE) == 0 ? CLOCK_FAR_JUMP_MS : CLOCK_JUMP_MS;
    int64_t ahead_ms = sim_server.ahead_ms + sim_draw_between(-jump_ms, jump_ms);
    sim_happened(SIM_STORE_CLOCK_JUMP);
    sim_store_set_clock(ahead_ms > CLOCK_AHEAD_MS    ? CLOCK_AHEAD_MS
                        : ahead_ms < -CLOCK_AHEAD_MS ? -CLOCK_AHEAD_MS
                                                     : ahead_ms);
    plan(SIM_STORE_CLOCK_JUMP, on_clock_jump);
}

void sim_store_start(void)
{
    sim_server.tables = sim_tables_create();
    int64_t failover_us = sim_next_us(SIM_STORE_FAILOVER);
    if (failover_us >= 0) {
        sim_server.standby = sim_tables_create();
        sim_after(NULL, failover_us, on_failover, NULL);
    }
    plan(SIM_STORE_SESSION_KILLED, on_session_killed);
    plan(SIM_STORE_SESSION_SILENT, on_session_silent);
    plan(SIM_STORE_DOWN, on_down);
    plan(SIM_STORE_READ_ONLY, on_read_only);
    if (!sim_is_clock_run()) {
        plan(SIM_STORE_CLOCK_JUMP, on_clock_jump);
    }
    plan(SIM_STORE_LAGGING, on_lagging);
    plan(SIM_STORE_ROW_LOCKED, on_row_locked);
    plan(SIM_STORE_REFUSES, on_refusing);
}

void sim_store_heal(void)
{
    sim_server.is_down = sim_server.is_read_only = sim_server.is_refusing = false;
    sim_server.locked_order[0] = '\0';
    sim_server.lags_until_us = 0;
    sim_store_set_clock(0);
    for (struct sim_session *session = sim_server.sessions; session != NULL; session = session->next) {
        if (session->is_silent) {
            sim_session_break_silence(session);
        } else {
            sim_session_hurry(session);
        }
    }
}

/* ---- queries ---- */

int64_t sim_store_now_ms(void)
{
    return sim_server.stopped_at_ms != 0 ? sim_server.stopped_at_ms : sim_true_ms() + sim_server.ahead_ms;
}

/* A sweep detects the step, up to its period of 2 s later. Moments set by schedulers with the old clock just
 * after that are spared too (MG_FAR_CLOCK_STALE_MS). */
#define SPARED_BEHIND_MS 3000

bool sim_store_passed_too_early(int64_t moment_ms)
{
    return moment_ms > unset_ms() && moment_ms <= sim_server.set_to_ms + SPARED_BEHIND_MS;
}

bool sim_store_went_back_unseen(void)
{
    return sim_server.went_back_unseen;
}

void sim_store_stop_clock(int64_t now_ms)
{
    sim_server.stopped_at_ms = now_ms;
}

void sim_store_kill_session(const struct mg_store *store)
{
    int pid = mg_pg_backend_pid(store->pg);
    for (struct sim_session *session = sim_server.sessions; session != NULL; session = session->next) {
        if (session->pid == pid) {
            sim_session_end(session, "terminating connection due to administrator command", false);
        }
    }
}

static void show(const struct sim_order *order, struct sim_stored *ret_stored)
{
    *ret_stored = (struct sim_stored){&order->record, order->events, order->event_count, order->times};
}

bool sim_store_find(const char *order_id, struct sim_stored *ret_stored)
{
    const struct sim_order *order = sim_tables_find(sim_server.tables, mg_slice_of(order_id));
    if (order != NULL) {
        show(order, ret_stored);
    }
    return order != NULL;
}

int sim_store_order_count(void)
{
    return sim_server.tables->order_count;
}

void sim_store_order_at(int index, struct sim_stored *ret_stored)
{
    show(sim_server.tables->orders[index], ret_stored);
}
