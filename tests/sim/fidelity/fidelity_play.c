/* See fidelity.h. Prints all of an answer except the wording of errors. */
#include "fidelity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/columns.def"

#define WRITES_MAX  6
#define ARENA_BYTES (64u * 1024 * 1024)

static FILE *out;
static int64_t now_ms;
static struct mg_arena *arena; /* of the current call */
static struct mg_arena *known_arena;
static struct mg_order_record known[FIDELITY_ORDERS]; /* as last loaded, or written */
static uint64_t epochs[FIDELITY_PEERS];

/* ---- printing ---- */

/* True: the call failed, and the error is printed. */
static bool tell_error(const struct mg_err *err)
{
    if (err != NULL) {
        (void)fprintf(out, " failed: %s", mg_class_name(err->class));
    }
    return err != NULL;
}

static void answered(struct fidelity_peer *peer)
{
    (void)fputc('\n', out);
    peer->is_answered = true;
    fidelity_wake(peer);
}

static void wait_for(struct fidelity_peer *peer)
{
    fidelity_wait(peer);
    peer->is_answered = false;
}

static void on_done(void *arg, const struct mg_err *err)
{
    (void)tell_error(err);
    answered(arg);
}

static struct fidelity_peer *draw_peer(void)
{
    return fidelity_peer((int)fidelity_draw(FIDELITY_PEERS));
}

/* ---- loading ---- */

struct loading {
    struct fidelity_peer *peer;
    const struct mg_load *loads;
    int count;
};

static int compare_service(const void *a, const void *b)
{
    return strcmp(((const struct mg_service_row *)a)->service, ((const struct mg_service_row *)b)->service);
}

static struct mg_slice kept(struct mg_slice text)
{
    return mg_arena_copy(known_arena, text);
}

#define KEEP(member) member = kept(member);

static void learn(const struct mg_order_record *loaded)
{
    struct mg_order_record *record = &known[strtol(loaded->order_id + 2, NULL, 10)];
    *record = *loaded;
    MG_ORDER_COLUMNS(MG_TEXTS, KEEP);
    MG_PAYLOAD_COLUMNS(MG_TEXTS, KEEP);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        struct mg_step_record *more = &record->steps[i];
        MG_STEP_COLUMNS(MG_TEXTS, KEEP);
        record->step_names[i] = mg_arena_text(known_arena, mg_slice_of(loaded->step_names[i]));
        record->services[i] = mg_arena_text(known_arena, mg_slice_of(loaded->services[i]));
    }
}

static void on_loaded(void *arg, const struct mg_load_answer *answer, const struct mg_err *err)
{
    const struct loading *loading = arg;
    if (!tell_error(err)) {
        struct mg_service_row services[8];
        fidelity_tell_time(out, "now", answer->now_ms);
        memcpy(services, answer->services, (size_t)answer->service_count * sizeof(services[0]));
        qsort(services, (size_t)answer->service_count, sizeof(services[0]), compare_service);
        for (int i = 0; i < answer->service_count; i++) {
            (void)fprintf(out, " %s:%s:probing%d", services[i].service, mg_reason_name(services[i].gate),
                          services[i].is_probing);
        }
        for (int i = 0; i < loading->count; i++) {
            const struct mg_loaded *loaded = &answer->orders[i];
            (void)fprintf(out, "\n  %s:%s", loading->loads[i].order_id,
                          loaded->record == NULL ? " none" : "");
            if (loaded->record != NULL) {
                fidelity_tell_record(out, loaded->record);
                learn(loaded->record);
            }
            if (loaded->event != NULL) {
                fidelity_tell_event(out, loaded->event);
            }
            record_print_slice(out, "sent", loaded->sent_status);
            (void)fprintf(out, " told_v%" PRIu64 " owes%d", loaded->sent_version, loaded->is_owed);
        }
    }
    answered(loading->peer);
}

static void load(struct fidelity_peer *peer, const struct mg_load *loads, int count)
{
    struct loading loading = {peer, loads, count};
    (void)fprintf(out, "load");
    mg_store_load(peer->store, arena, loads, count, on_loaded, &loading);
    wait_for(peer);
}

static void play_load(void)
{
    struct mg_load loads[8];
    int count = (int)fidelity_draw(8);
    for (int i = 0; i < count; i++) {
        const char *order_id =
            fidelity_draw(10) == 0 ? "nobody" : fidelity_order_id((int)fidelity_draw(FIDELITY_ORDERS));
        loads[i] =
            (struct mg_load){order_id, mg_slice_of(fidelity_draw(3) == 0 ? NULL : fidelity_draw_cause()),
                             fidelity_draw(2) == 0};
    }
    load(draw_peer(), loads, count);
}

static void load_all(void)
{
    struct mg_load loads[FIDELITY_ORDERS];
    for (int i = 0; i < FIDELITY_ORDERS; i++) {
        loads[i] = (struct mg_load){.order_id = fidelity_order_id(i)};
    }
    load(draw_peer(), loads, FIDELITY_ORDERS); /* also so that no session is idle for long */
}

/* ---- committing ---- */

static void on_committed(void *arg, const struct mg_err *err)
{
    (void)tell_error(err);
    ((struct fidelity_peer *)arg)->is_answered = true;
    fidelity_wake(arg);
}

static void play_commit(void)
{
    static struct fidelity_writing writings[WRITES_MAX];
    struct mg_order_write writes[WRITES_MAX];
    struct mg_load loads[WRITES_MAX];
    struct fidelity_peer *peer = draw_peer();
    int count = 1 + (int)fidelity_draw(WRITES_MAX), first = (int)fidelity_draw(FIDELITY_ORDERS);
    for (int i = 0; i < count; i++) {
        int order = (first + 5 * i) %
                    FIDELITY_ORDERS; /* 5 and FIDELITY_ORDERS have no common divisor: all are different */
        fidelity_draw_write(&known[order], order, &writings[i], &writes[i]);
        loads[i] = (struct mg_load){.order_id = fidelity_order_id(order)};
    }
    (void)fprintf(out, "commit");
    mg_store_commit(peer->store, writes, count, on_committed, peer);
    wait_for(peer);
    for (int i = 0; i < count; i++) {
        static const char *const RESULTS[] = {"done", "conflict", "poisoned"};
        (void)fprintf(out, " %s:%s", writes[i].record->order_id, RESULTS[writes[i].result]);
        if (writes[i].result == MG_WRITE_REFUSED) {
            fidelity_tell_sqlstate(out, writes[i].text);
        }
    }
    (void)fputc('\n', out);
    if (fidelity_draw(3) > 0) { /* else it continues with the known order */
        load(draw_peer(), loads, count);
    }
}

/* ---- owed statuses ---- */

static void on_owed(void *arg, const struct mg_order_record *record, const struct mg_event_record *events,
                    int count, const struct mg_err *err)
{
    if (!tell_error(err)) {
        (void)fprintf(out, record == NULL ? " none" : "");
        if (record != NULL) {
            fidelity_tell_record(out, record);
        }
        for (int i = 0; i < count; i++) {
            fidelity_tell_event(out, &events[i]);
        }
    }
    answered(arg);
}

static void on_marked(void *arg, const struct mg_given_up *given_up, int count, const struct mg_err *err)
{
    if (!tell_error(err)) {
        for (int i = 0; i < count; i++) {
            (void)fprintf(out, "\n  given up %s %" PRId64 " alerts%" PRId64, given_up[i].queue,
                          given_up[i].count, given_up[i].alerts_open);
        }
    }
    answered(arg);
}

static void play_owed(void)
{
    static const char *const QUEUES[] = {"",         "a",          "0123456789", "reply.1",
                                         "client.a", "client.a.1", "client.b.1", "client.b.2"};
    struct fidelity_peer *peer = fidelity_peer((int)fidelity_draw(2));
    struct mg_owed marks[8];
    int count = 1 + (int)fidelity_draw(8);
    int64_t owed_for_ms = 1000 << fidelity_draw(8);
    for (int i = 0; i < count; i++) {
        bool is_owed = fidelity_draw(3) > 0;
        marks[i] = (struct mg_owed){.order_id = fidelity_order_id((int)fidelity_draw(FIDELITY_ORDERS)),
                                    .version = 1 + fidelity_draw(4),
                                    .is_owed = is_owed,
                                    .is_retry = fidelity_draw(2) == 0,
                                    .reply_to = QUEUES[(is_owed ? 1 : 0) + (int)fidelity_draw(7)]};
        if (i == 6 && is_owed && marks[i].is_retry) {
            marks[i].version = 0, marks[i].reply_to = "";
        }
    }
    (void)fprintf(out, "mark for%" PRId64, owed_for_ms);
    mg_store_mark_owed(peer->store, marks, count, owed_for_ms, on_marked, peer);
    wait_for(peer);
    (void)fprintf(out, "owed");
    mg_store_load_owed(peer->store, marks[0].order_id, on_owed, peer);
    wait_for(peer);
}

/* ---- services, workflows, alerts ---- */

static void services_put(struct fidelity_peer *peer, const struct mg_service_state *states, int count)
{
    mg_store_put_service_states(peer->store, states, count, on_done, peer);
    wait_for(peer);
    load(peer, NULL, 0);
    fidelity_play_report(peer, MG_REPORT_CONTROL, out);
}

/* Enough agents of one service to exceed the number kept; only the first and the last are ready. The
 * service's gate shows which of them, and of later reporters, are kept. */
static void play_crowd(void)
{
    static struct mg_service_state states[MG_SERVICE_INSTANCES_MAX];
    static char names[MG_SERVICE_INSTANCES_MAX][16];
    struct fidelity_peer *peer = fidelity_peer((int)fidelity_draw(2));
    const char *service = fidelity_draw(2) == 0 ? "courier" : "payment";
    int count = MG_SERVICE_INSTANCES_MAX - (int)fidelity_draw(4), from = (int)fidelity_draw(3);
    for (int i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "c-%d", 100 * from + i);
        states[i] = (struct mg_service_state){.service = service,
                                              .instance = names[i],
                                              .breaker = "closed",
                                              .is_ready = from > 0 && (i == 0 || i == count - 1),
                                              .concurrency = 1};
    }
    (void)fprintf(out, "crowd of %s %d from %d", service, count, from);
    services_put(peer, states, count);
}

static void play_services(void)
{
    static const char *const SERVICES[] = {"inventory", "payment", "courier"};
    static const char *const INSTANCES[] = {"a", "b"};
    static const char *const BREAKERS[] = {"closed", "open", "half_open"};
    struct fidelity_peer *peer = fidelity_peer((int)fidelity_draw(2));
    struct mg_service_state states[5];
    int count = 1 + (int)fidelity_draw(5);
    for (int i = 0; i < count; i++) {
        states[i] =
            (struct mg_service_state){.service = FIDELITY_ANY(SERVICES),
                                      .instance = FIDELITY_ANY(INSTANCES),
                                      .breaker = fidelity_is_rare() ? "broken" : FIDELITY_ANY(BREAKERS),
                                      .is_ready = fidelity_draw(3) > 0,
                                      .is_prober = fidelity_draw(3) == 0,
                                      .in_flight = (int64_t)fidelity_draw(2),
                                      .concurrency = 8,
                                      .reason = fidelity_draw(2) == 0 ? NULL : "why",
                                      .process = fidelity_draw(3),
                                      .sequence = fidelity_draw(6)};
    }
    (void)fprintf(out, "services");
    services_put(peer, states, count);
}

static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    if (!tell_error(err)) {
        (void)fprintf(out, " %d %" PRId64, found, version);
        record_print_slice(out, "definition", definition);
    }
    answered(arg);
}

static void play_workflow(void)
{
    static const char *const NAMES[] = {"fulfilment", "refund"}, *const DEFINITIONS[] = {"{}", "{\"v\":2}"};
    struct fidelity_peer *peer = fidelity_peer((int)fidelity_draw(2));
    (void)fprintf(out, "put");
    mg_store_put_workflow(peer->store, FIDELITY_ANY(NAMES), 1 + (int64_t)fidelity_draw(3),
                          mg_slice_of(FIDELITY_ANY(DEFINITIONS)), on_done, peer);
    wait_for(peer);
    (void)fprintf(out, "get");
    mg_store_get_workflow(peer->store, FIDELITY_ANY(NAMES), (int64_t)fidelity_draw(4), on_workflow, peer);
    wait_for(peer);
}

static void on_alerts(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    if (!tell_error(err)) {
        for (int i = 0; i < count; i++) {
            (void)fprintf(out, " %d", is_changed[i]);
        }
    }
    answered(arg);
}

static void play_alerts(void)
{
    struct fidelity_peer *peer = draw_peer();
    struct mg_alert_write alerts[5];
    int count = 1 + (int)fidelity_draw(5);
    for (int i = 0; i < count; i++) {
        alerts[i] = fidelity_draw_alert();
    }
    (void)fprintf(out, "alerts");
    mg_store_write_alerts(peer->store, alerts, count, on_alerts, peer);
    wait_for(peer);
    fidelity_play_report(peer, MG_REPORT_UNNEEDED_ALERTS, out);
}

/* ---- leading and sweeping ---- */

static const char *holder_of(int peer)
{
    return peer == 2 ? "first" : "second";
}

static void on_lead(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err)
{
    struct fidelity_peer *peer = arg;
    if (!tell_error(err)) {
        (void)fprintf(out, " %d %" PRIu64 "%s", answer->is_leader, answer->epoch,
                      answer->refusal != NULL ? " refused" : "");
        fidelity_tell_time(out, "now", answer->now_ms);
        fidelity_tell_time(out, "swept_at", answer->swept_at_ms);
        if (answer->is_leader) {
            epochs[peer == fidelity_peer(2) ? 2 : 3] = answer->epoch;
        }
    }
    answered(peer);
}

static void play_lead(void)
{
    int index = fidelity_is_rare() ? 0 : 2 + (int)fidelity_draw(2);
    struct fidelity_peer *peer = fidelity_peer(index);
    uint64_t what = index == 0 ? 5 : fidelity_draw(6);
    if (what == 0) {
        (void)fprintf(out, "stop %d", index);
        mg_store_stop_leading(peer->store, on_done, peer);
        wait_for(peer);
    } else if (what == 1) {
        (void)fprintf(out, "lose %d\n", index);
        fidelity_lose(peer);
    } else {
        (void)fprintf(out, "lead %d", index);
        mg_store_try_lead(peer->store, holder_of(index), on_lead, peer);
        wait_for(peer);
    }
}

static void on_swept(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    if (!tell_error(err)) {
        fidelity_tell_sweep(out, arena, answer);
    }
    answered(arg);
}

static void play_sweep(void)
{
    int index = 2 + (int)fidelity_draw(2);
    struct fidelity_peer *peer = fidelity_peer(index);
    load_all();
    struct mg_sweep_options options = {.epoch = epochs[index] + (fidelity_is_rare() ? 1 : 0),
                                       .holder = fidelity_is_rare() ? "nobody" : holder_of(index),
                                       .limit = fidelity_draw_limit(known, now_ms),
                                       .ask_again_ms = (int64_t)fidelity_draw(4) * 1000,
                                       .overdue_limit = (int)fidelity_draw(12)};
    options.step_limit = 1 + (options.limit * 5 + options.overdue_limit * 7) % 40;
    fidelity_draw_grace(&options);
    (void)fprintf(out, "sweep %d limit%d brake%d steps%d again%" PRId64, index, options.limit,
                  options.overdue_limit, options.step_limit, options.ask_again_ms);
    mg_store_sweep(peer->store, &options, on_swept, peer);
    wait_for(peer);
    load_all();
}

static void on_parked(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err)
{
    if (!tell_error(err)) {
        fidelity_tell_parked(out, answer);
    }
    answered(arg);
}

static void on_counted(void *arg, int64_t parked, bool is_avoided, const struct mg_err *err)
{
    if (!tell_error(err)) {
        (void)fprintf(out, " %" PRId64 " avoided%d", parked, is_avoided);
    }
    answered(arg);
}

/* All of a queue or none: a limit may pick any of those that were pushed to the same moment. */
static void play_parked(void)
{
    static const char *const SERVICES[] = {"inventory", "payment", "courier", "nobody"};
    static int turn;
    struct mg_parked_room rooms[8];
    int index = 2 + (int)fidelity_draw(2), after = turn++;
    struct mg_parked_options options = {.epoch = epochs[index] + (fidelity_is_rare() ? 1 : 0),
                                        .holder = fidelity_is_rare() ? "nobody" : holder_of(index),
                                        .ask_again_ms = (int64_t)fidelity_draw(4) * 1000,
                                        .after.is_high = after / 2 % 2 == 0,
                                        .rooms = rooms};
    (void)snprintf(options.after.service, MG_NAME_MAX, "%s", after % 2 == 0 ? SERVICES[after / 4 % 4] : "");
    for (int i = 0; i < 8; i++) {
        if (fidelity_draw(2) == 0) {
            rooms[options.room_count++] = (struct mg_parked_room){SERVICES[i / 2], i % 2 == 0, 1000};
        }
    }
    (void)fprintf(out, "parked %d again%" PRId64, index, options.ask_again_ms);
    struct fidelity_peer *peer = fidelity_peer(index);
    mg_store_ask_parked(peer->store, &options, on_parked, peer);
    wait_for(peer);
    (void)fprintf(out, "parked at %s", SERVICES[after % 4]);
    mg_store_count_parked(peer->store, SERVICES[after % 4], after / 4 % 2 == 0, 1 + after % 8, on_counted,
                          peer);
    wait_for(peer);
}

static void on_owed_found(void *arg, bool is_leader, const struct mg_due *found, int count,
                          const struct mg_err *err)
{
    if (!tell_error(err)) {
        fidelity_tell_owed(out, arena, is_leader, found, count);
    }
    answered(arg);
}

static void play_ask_owed(void)
{
    int index = 2 + (int)fidelity_draw(2);
    struct fidelity_peer *peer = fidelity_peer(index);
    const struct mg_ask_owed options = {.epoch = epochs[index] + (fidelity_is_rare() ? 1 : 0),
                                        .holder = fidelity_is_rare() ? "nobody" : holder_of(index),
                                        .limit = 1 + (int)fidelity_draw(FIDELITY_ORDERS),
                                        .ask_again_ms = (int64_t)fidelity_draw(4) * 1000};
    (void)fprintf(out, "ask_owed %d limit%d again%" PRId64, index, options.limit, options.ask_again_ms);
    mg_store_ask_owed(peer->store, &options, on_owed_found, peer);
    wait_for(peer);
}

static void on_woken(void *arg, bool is_leader, bool is_full, const struct mg_err *err)
{
    if (!tell_error(err)) {
        (void)fprintf(out, " leader%d full%d", is_leader, is_full);
    }
    answered(arg);
}

/* All or none: a limit may pick any of those that wake at the same moment. */
static void play_wake(void)
{
    int index = 2 + (int)fidelity_draw(2);
    struct fidelity_peer *peer = fidelity_peer(index);
    (void)fprintf(out, "wake %d", index);
    mg_store_wake(peer->store, epochs[index] + (fidelity_is_rare() ? 1 : 0), holder_of(index),
                  FIDELITY_ORDERS + 1, on_woken, peer);
    wait_for(peer);
    load_all();
}

/* ---- the sequence ---- */

static void play_clock(void)
{
    static const int64_t PASSES_MS[] = {1, 500, 999, 1000, 3000, 14999, 15000, 30000, 60000, 3600000, -5000};
    now_ms += FIDELITY_ANY(PASSES_MS);
    (void)fprintf(out, "clock %+" PRId64 "\n", now_ms - FIDELITY_START_MS);
    fidelity_draw_around(now_ms);
    fidelity_set_clock(now_ms);
}

void fidelity_play(uint64_t seed, FILE *to)
{
    static void (*const PLAYS[])(void) = {
        play_commit,   play_commit, play_commit, play_load, play_owed,  play_services,
        play_workflow, play_alerts, play_lead,   play_lead, play_sweep, play_sweep,
        play_wake,     play_clock,  play_clock,  play_owed, play_owed,  play_ask_owed,
        play_ask_owed, play_parked, play_parked, play_crowd};
    out = to;
    fidelity_draw_begin(seed);
    now_ms = FIDELITY_START_MS;
    fidelity_draw_around(now_ms);
    memset(known, 0, sizeof(known));
    memset(epochs, 0, sizeof(epochs));
    known_arena = mg_arena_create(ARENA_BYTES);
    fidelity_set_clock(now_ms);
    for (int i = 0; i < FIDELITY_STEPS; i++) {
        arena = mg_arena_create(ARENA_BYTES);
        (void)fprintf(out, "%d: ", i);
        FIDELITY_ANY(PLAYS)();
        mg_arena_destroy(arena);
    }
    mg_arena_destroy(known_arena);
    (void)fprintf(out, "end\n");
}
