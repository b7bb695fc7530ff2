/* See remote.h. */
#include "remote.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "checker.h"
#include "core/key.h"
#include "io/http/client.h"
#include "io/tls/check.h"
#include "nodes.h"
#include "orders.h"

#define HOP_US  3000
#define WORK_US 20000
/* Slow enough that calls are open whenever the clock is set, and within the agent's time for a try. */
#define CLOCK_RUN_WORK_US 1200000
/* Of one call at a time; below the time-out of a try. */
#define FULL_RUN_MIN_US   800000
#define FULL_RUN_MAX_US   1200000
#define LATE_MAX_US       30000000
#define AWAY_MAX_US       20000000
#define MG_QUERY_KEY_SIZE 256
/* The largest difference between an agent's clock and the database's; see nodes.c. */
#define SKEW_MAX_MS 2000

enum mg_verb { VERB_DO, VERB_UNDO, VERB_VERIFY, VERB_ASK /* the verify of an undo */ };

struct mg_http_client {
    struct sim_node *node;
};

struct mg_http_call {
    struct sim_node *node;
    uint32_t life;
    mg_http_done_fn *done;
    void *arg;
    bool is_over; /* answered, cancelled, or timed out: the caller receives nothing more */
    enum mg_verb verb;
    enum sim_remote service;
    struct sim_work *work;
    char key[MG_QUERY_KEY_SIZE];
    int64_t timeout_ms;
    uint32_t attempt;
    int64_t act_before_ms; /* complete-by and quiesce, by the database's clock */
    int64_t began_us;
    /* the value that the caller will receive */
    enum mg_sent sent;
    bool is_page;
    bool is_given_up; /* a page has answered, and the service is still at work */
    bool is_cut;      /* the connection broke within the body; the head had no length */
    int status;
    char body[SIM_ANSWER_SIZE];
    const char *reason;
};

static struct {
    struct sim_table ledger;
    int64_t away_until_us[SIM_REMOTE_COUNT], ails_until_us[SIM_REMOTE_COUNT];
} remote;

static const char *const NAMES[SIM_REMOTE_COUNT] = {"stock", "bank", "post", "yard", "clerk",
                                                    "mint",  "inn",  "pier", "fund"};
static const char *const VERBS[] = {"do", "undo", "verify", "ask"};

const struct sim_table *sim_ledger(void)
{
    return &remote.ledger;
}

/* ---- effects ---- */

/* A copy of a do with its answer on its way before the copy began. That answer may enter its queue later. */
static bool is_unknown_copy(const struct mg_http_call *call)
{
    char id[MG_KEY_SIZE];
    mg_correlation_write(call->work->order_id, call->work->step, call->attempt, MG_KIND_DO, id);
    return call->verb == VERB_DO && sim_check_is_do_settled(id, call->began_us);
}

/* Law 11, quiesce: an undo waits until the attempt is answered. A copy of the attempt's request may arrive
 * later, after a lost ack, and no process can detect it. So a service remembers its undos, as deploy/sample
 * does. */
static bool is_forbidden(const struct mg_http_call *call)
{
    const struct sim_work *work = call->work;
    return work->is_undo_asked && !work->is_effective && (call->service == SIM_BANK || is_unknown_copy(call));
}

/* By the database's clock. In runs that set this clock the service uses its own, and no call takes long. */
static int64_t time_left_us(const struct mg_http_call *call)
{
    int64_t left_ms = call->act_before_ms - sim_store_now_ms();
    return (sim_is_clock_run() ? SIM_QUIESCE_MS : left_ms) * 1000;
}

static bool is_in_time(const struct mg_http_call *call)
{
    return time_left_us(call) > 0;
}

/* This do takes effect after an undo or a verify, which was too early: the do could be known to be on its
 * way. */
static void overtaken_check(const struct mg_http_call *call)
{
    const struct sim_work *work = call->work;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(work->order_id));
    if (!sim_is_time_true() || order->is_tail_lost || !is_in_time(call) || is_unknown_copy(call)) {
        return;
    }
    if (work->is_undo_asked) {
        sim_violated("undo_after_do", "%s acts on %s, which has been undone: the undo was too early",
                     NAMES[call->service], call->key);
    }
    if (work->absent_by > call->attempt) {
        sim_violated("verify_after_do", "%s acts on %s, which was found absent: the verify was too early",
                     NAMES[call->service], call->key);
    }
}

static void take_effect(struct mg_http_call *call)
{
    overtaken_check(call);
    sim_check_acts(call->work);
    call->work->acted++;
    call->work->standing++;
    call->work->is_effective = true;
    sim_key_note(call->work);
}

static void work_begin(struct mg_http_call *call)
{
    struct sim_work *work = call->work;
    work->done_at_us = sim_now_us() + sim_work_takes_us(work);
    if (work->is_to_decline) {
        work->is_declined = true;
    } else {
        take_effect(call);
    }
}

static void on_begin(void *arg)
{
    struct mg_http_call *call = arg;
    call->work->is_queued = false;
    call->work->pending--;
    sim_trace("%s: begins %s", NAMES[call->service], call->key);
    work_begin(call);
}

/* The work begins in its attempt's time: otherwise the service does not accept it. */
static void work_accept(struct mg_http_call *call)
{
    int64_t left_us = time_left_us(call) - 1;
    int64_t wait_us = sim_happens(SIM_REMOTE_LATE) ? left_us : sim_work_begins_in_us(call->work);
    sim_work_draw(call->work);
    if (wait_us == 0) {
        work_begin(call);
        return;
    }
    call->work->is_queued = true;
    call->work->pending++;
    sim_after(NULL, wait_us < left_us ? wait_us : left_us, on_begin, call);
}

static bool is_slow(enum sim_remote service)
{
    return service == SIM_YARD || service == SIM_CLERK || service == SIM_PIER;
}

/* Clerk's body says more than its status. */
static int status_of(const struct sim_work *work)
{
    bool is_accepted = sim_is_at_work(work) && (work->service != SIM_CLERK || sim_draw(2) == 0);
    return is_accepted ? 202 : 200;
}

/* False: it is too late for an effect, and the caller gets no answer. */
static bool act_do(struct mg_http_call *call)
{
    struct sim_work *work = call->work;
    if (is_forbidden(call)) {
        overtaken_check(call);
        call->status = 410;
        return true;
    }
    if (!sim_is_key_known(work)) {
        if (!is_in_time(call) && call->service != SIM_BANK) {
            return false;
        }
        work->is_late = work->is_late || !is_in_time(call);
        if (is_slow(call->service)) {
            work_accept(call);
        } else {
            take_effect(call);
        }
    }
    call->status = status_of(work);
    sim_answer_draw(work, call->body);
    return true;
}

static void act_undo(struct mg_http_call *call)
{
    struct sim_work *work = call->work;
    work->is_undo_asked = true;
    if (call->service == SIM_FUND) {
        call->status = sim_fund_undo(work, call->body);
        return;
    }
    call->status = work->is_effective ? 200 : 404;
    sim_take_back(work);
}

static void act_verify(struct mg_http_call *call)
{
    struct sim_work *work = call->work;
    bool is_there = work->is_effective || work->is_queued || work->is_declined;
    call->status = !is_there ? 404 : status_of(work);
    work->absent_by = is_there ? 0 : call->attempt;
    if (sim_loses_number(work)) {
        (void)snprintf(call->body, sizeof(call->body), "{\"grade\":\"none\"}");
    } else {
        sim_answer_draw(work, call->body);
    }
}

/* ---- answers to the caller ---- */

static void call_end(struct mg_http_call *call, bool is_timed_out)
{
    if (call->is_over) {
        return;
    }
    call->is_over = true;
    struct mg_http_answer answer = {.sent = call->sent,
                                    .status = call->status,
                                    .body = mg_slice_of(call->body),
                                    .content_type = call->is_page ? "text/html" : "application/json",
                                    .retry_after_ms = -1,
                                    .is_timed_out = is_timed_out,
                                    .is_ended_by_close = call->is_cut};
    if (is_timed_out) {
        answer = (struct mg_http_answer){
            .sent = MG_SENT_MAYBE, .content_type = "", .retry_after_ms = -1, .is_timed_out = true};
    } else if (call->sent != MG_SENT_YES) {
        answer.status = 0;
        answer.body = (struct mg_slice){NULL, 0};
    }
    (void)snprintf(answer.reason, sizeof(answer.reason), "%s",
                   is_timed_out           ? "timed out"
                   : call->reason != NULL ? call->reason
                                          : "");
    sim_trace("answer %s %s: %d%s%s", VERBS[call->verb], call->key, answer.status,
              answer.reason[0] != '\0' ? " " : "", answer.reason);
    call->done(call->arg, &answer);
}

static void on_answer(void *call)
{
    call_end(call, false);
}

static void on_timeout(void *call)
{
    call_end(call, true);
}

static void answer_send(struct mg_http_call *call, enum mg_sent sent, const char *reason)
{
    call->sent = sent;
    call->reason = reason;
    bool is_of_undo = call->verb == VERB_UNDO || call->verb == VERB_ASK;
    uint64_t bit = UINT64_C(1) << SIM_ANSWER_BIT(call->status);
    call->work->answers |= is_of_undo ? 0 : bit;
    call->work->undo_answers |= is_of_undo ? bit : 0;
    if (call->node->is_alive && call->node->life == call->life) {
        sim_after(call->node, sim_draw_delay_us(HOP_US), on_answer, call);
    }
}

static bool page_take(struct mg_http_call *call, bool has_acted)
{
    int status = sim_page_draw(has_acted, call->verb == VERB_DO, call->body);
    call->status = status != 0 ? status : call->status;
    call->is_page = status != 0;
    return call->is_page;
}

/* The page has been sent; the service's own answer reaches nobody. */
static void act_given_up(struct mg_http_call *call)
{
    struct mg_http_call answered = *call;
    (void)act_do(call);
    sim_trace("%s: %s %s is %d, behind a page", NAMES[call->service], VERBS[call->verb], call->key,
              call->status);
    call->status = answered.status;
    memcpy(call->body, answered.body, sizeof(call->body));
}

static void on_act(void *arg)
{
    struct mg_http_call *call = arg;
    call->work->pending -= call->verb == VERB_DO ? 1 : 0;
    if (call->is_given_up) {
        act_given_up(call);
        return;
    }
    switch (call->verb) {
    case VERB_DO:
        if (!act_do(call)) {
            return;
        }
        break;
    case VERB_UNDO:
        act_undo(call);
        break;
    case VERB_VERIFY:
        act_verify(call);
        break;
    case VERB_ASK:
        call->status = sim_fund_ask(call->work, call->body);
        break;
    }
    sim_trace("%s: %s %s is %d", NAMES[call->service], VERBS[call->verb], call->key, call->status);
    if (sim_happens(SIM_REMOTE_DROPPED_AFTER)) {
        answer_send(call, MG_SENT_MAYBE, "connection reset");
    } else if (sim_happens(SIM_REMOTE_GARBAGE)) {
        call->is_cut = true;
        call->body[strlen(call->body) / 2] = '\0';
        answer_send(call, sim_draw(2) == 0 ? MG_SENT_MAYBE : MG_SENT_YES, NULL);
    } else if (page_take(call, true)) {
        answer_send(call, MG_SENT_YES, NULL);
    } else {
        /* Accepted work continues after its answer, so 500 would be a false answer. No client can guard
         * against that, because law 11, quiesce, relies on the service's own answer. */
        if (!sim_is_at_work(call->work) && sim_happens(SIM_REMOTE_FAILED_AFTER)) {
            call->status = 500;
        }
        answer_send(call, MG_SENT_YES, NULL);
    }
}

/* The refusal that such a call always gets while nothing stands, or 0 as long as none has been given. Nothing
 * is refused while a do may act: its copy would be no less refused. */
static int refusal_draw(struct mg_http_call *call)
{
    static const int OF_GATEWAY[] = {401, 403, 404, 407, 410};
    const struct sim_work *work = call->work;
    bool may_refuse_again = call->service == SIM_STOCK && sim_script() == NULL;
    if ((!work->is_effective || may_refuse_again) && sim_happens(SIM_REMOTE_REFUSES)) {
        return 422;
    }
    if ((!work->is_effective || sim_script() == NULL) && sim_happens(SIM_REMOTE_GATEWAY)) {
        call->is_page = sim_is_rough_run();
        return OF_GATEWAY[sim_draw(sizeof(OF_GATEWAY) / sizeof(OF_GATEWAY[0]))];
    }
    return 0;
}

/* A refusal means that this call did nothing. Stock also refuses a do with a standing effect, and so does the
 * gateway in front of any service, since neither looks at the keys first: their refusal proves nothing about
 * earlier calls. In a script they do not do so: occasions are counted there, and a repeated do would use up
 * another step's occasion. 0: not refused. */
static int refusal_of(struct mg_http_call *call)
{
    struct sim_work *work = call->work;
    if (call->verb != VERB_DO || work->pending > 0) {
        return 0;
    }
    if (work->refused != 0 && !work->is_effective) {
        return work->refused;
    }
    int status = refusal_draw(call);
    if (!work->is_effective && sim_keeps_refusals(call->service)) {
        work->refused = status;
    }
    return status;
}

static void on_arrival(void *arg)
{
    struct mg_http_call *call = arg;
    struct sim_work *work = call->work;
    bool is_ailing = sim_now_us() < remote.ails_until_us[call->service];
    int status = is_ailing ? 503 : refusal_of(call);
    status = status == 0 && sim_happens(SIM_REMOTE_BUSY) ? 503 : status;
    call->status = status;
    if (status != 0 || page_take(call, false)) {
        call->is_given_up = status == 0 && call->verb == VERB_DO && sim_draw(2) == 0;
        answer_send(call, MG_SENT_YES, NULL);
        if (!call->is_given_up) {
            return;
        }
    }
    int64_t takes_us =
        sim_is_clock_run() ? sim_draw_between(WORK_US, CLOCK_RUN_WORK_US) : sim_draw_delay_us(WORK_US);
    if (sim_is_full_run() && call->service == SIM_STOCK && !sim_is_healed()) {
        takes_us = sim_draw_between(FULL_RUN_MIN_US, FULL_RUN_MAX_US);
    }
    int64_t left_us = time_left_us(call) - 1;
    if (call->is_given_up && left_us > WORK_US) { /* as long as one waits that gives it up */
        takes_us = sim_draw_between(WORK_US, left_us);
    } else if (sim_happens(SIM_REMOTE_SLOW)) {
        takes_us = sim_draw_between(call->timeout_ms * 500, call->timeout_ms * 1200);
    } else if (sim_happens(SIM_REMOTE_LATE)) {
        int64_t most_us = call->service == SIM_BANK ? LATE_MAX_US : left_us;
        int64_t least_us = call->timeout_ms * 1000;
        takes_us = most_us > least_us ? sim_draw_between(least_us, most_us) : most_us;
    }
    work->pending += call->verb == VERB_DO ? 1 : 0;
    sim_after(NULL, takes_us > 0 ? takes_us : 0, on_act, call);
}

/* ---- io/http/client.h ---- */

/* Answers are small here. */
struct mg_http_room *mg_http_room_create(struct mg_loop *loop, size_t max_bytes)
{
    (void)loop, (void)max_bytes;
    static int room;
    return (struct mg_http_room *)&room;
}

void mg_http_room_destroy(struct mg_http_room *room)
{
    (void)room;
}

enum mg_class mg_http_client_create(struct mg_loop *loop, const struct mg_http_client_options *options,
                                    struct mg_http_client **ret_client, struct mg_err *err)
{
    (void)loop, (void)options;
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not make the HTTP client: no memory");
    }
    struct mg_http_client *client = calloc(1, sizeof(*client));
    assert(client != NULL);
    client->node = sim_node();
    *ret_client = client;
    return MG_OK;
}

void mg_http_client_destroy(struct mg_http_client *client)
{
    free(client);
}

void mg_http_client_reload(struct mg_http_client *client, bool keeps_connections)
{
    (void)client, (void)keeps_connections; /* there are no certificates */
}

enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err)
{
    (void)files, (void)err;
    (void)snprintf(ret_warning, size, "%s", "");
    return MG_OK;
}

static const char *header_of(const struct mg_http_request *request, const char *name)
{
    size_t len = strlen(name);
    for (int i = 0; request->headers[i] != NULL; i++) {
        if (strncmp(request->headers[i], name, len) == 0) {
            return request->headers[i] + len;
        }
    }
    return "";
}

static void call_read(struct mg_http_call *call, const struct mg_http_request *request)
{
    const char *at = request->url + strlen("http://127.0.0.1:1/");
    size_t name_len = strcspn(at, "/");
    call->service = SIM_REMOTE_COUNT;
    for (int i = 0; i < SIM_REMOTE_COUNT; i++) {
        if (strlen(NAMES[i]) == name_len && memcmp(NAMES[i], at, name_len) == 0) {
            call->service = (enum sim_remote)i;
        }
    }
    assert(call->service != SIM_REMOTE_COUNT);
    at += name_len;
    if (strcmp(at, "/do") == 0) {
        call->verb = VERB_DO;
        (void)snprintf(call->key, sizeof(call->key), "%s", header_of(request, "Idempotency-Key: "));
    } else {
        bool is_of_number = strncmp(at, "/no/", strlen("/no/")) == 0;
        bool is_of_undo = strncmp(at, "/undo/", strlen("/undo/")) == 0;
        call->verb = strcmp(request->method, "DELETE") == 0 ? VERB_UNDO : is_of_undo ? VERB_ASK : VERB_VERIFY;
        const char *key = at + strlen(is_of_undo ? "/undo/" : "/of/");
        if (is_of_number) {
            key = sim_check_named(header_of(request, "X-Makegood-Order: "),
                                  header_of(request, "X-Makegood-Step: "), at + strlen("/no/"));
        }
        (void)snprintf(call->key, sizeof(call->key), "%s", key);
    }
}

static struct sim_work *work_of(struct mg_http_call *call, const struct mg_http_request *request)
{
    struct sim_entry *entry = sim_table_put(&remote.ledger, mg_slice_of(call->key));
    if (entry->value == NULL) {
        struct sim_work *work = calloc(1, sizeof(*work));
        assert(work != NULL);
        work->service = call->service;
        work->number = remote.ledger.count;
        (void)snprintf(work->order_id, sizeof(work->order_id), "%s",
                       header_of(request, "X-Makegood-Order: "));
        (void)snprintf(work->step, sizeof(work->step), "%s", header_of(request, "X-Makegood-Step: "));
        entry->value = work;
    }
    struct sim_work *work = entry->value;
    if (call->verb == VERB_DO) {
        uint64_t hash = sim_hash(request->body);
        /* Makegood's hash for comparison is in the row (law 8, derived identities), and may be lost with its
         * tail. */
        bool is_lost = sim_submitted_find(mg_slice_of(work->order_id))->is_tail_lost;
        if (work->has_body && work->body_hash != hash && !is_lost) {
            sim_violated("same_key_same_bytes", "%s goes out with other bytes than before", call->key);
        }
        work->has_body = true;
        work->body_hash = hash;
    }
    return work;
}

/* RFC 3339 in UTC with milliseconds, as mg_time_format writes it. */
static int64_t time_read_ms(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm);
    assert(end != NULL);
    return (int64_t)timegm(&tm) * 1000 + strtol(end, NULL, 10);
}

/* Law 6, database clock, and the pattern's rule: an agent sends nothing past complete-by. */
static void check_in_time(const struct mg_http_call *call, const struct mg_http_request *request)
{
    char now[MG_TIME_TEXT_SIZE];
    mg_time_format(sim_store_now_ms() - SKEW_MAX_MS, now);
    const char *complete_by = header_of(request, "X-Makegood-Complete-By: ");
    if (sim_is_time_true() && strcmp(now, complete_by) > 0) {
        sim_violated("silent_when_late", "%s of %s is sent after %s, at %s and 2 s", VERBS[call->verb],
                     call->key, complete_by, now);
    }
}

enum mg_class mg_http_client_call(struct mg_http_client *client, const struct mg_http_request *request,
                                  mg_http_done_fn *done, void *arg, struct mg_http_call **ret_call,
                                  struct mg_err *err)
{
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory", request->method);
    }
    struct mg_http_call *call = calloc(1, sizeof(*call));
    assert(call != NULL);
    call->node = client->node;
    call->life = client->node->life;
    call->done = done;
    call->arg = arg;
    call->timeout_ms = request->timeout_ms;
    call_read(call, request);
    call->work = work_of(call, request);
    sim_trace("call %s %s %s, %lld ms", NAMES[call->service], VERBS[call->verb], call->key,
              (long long)request->timeout_ms);
    check_in_time(call, request);
    sim_check_called(call->work->order_id, call->work->step, request->body);
    call->attempt = (uint32_t)strtoul(header_of(request, "X-Makegood-Attempt: "), NULL, 10);
    call->act_before_ms = time_read_ms(header_of(request, "X-Makegood-Complete-By: ")) + SIM_QUIESCE_MS;
    call->began_us = sim_now_us();
    *ret_call = call;
    if (sim_now_us() < remote.away_until_us[call->service] || sim_happens(SIM_REMOTE_UNREACHABLE)) {
        answer_send(call, MG_SENT_NO, "connection refused");
        return MG_OK;
    }
    sim_after(client->node, request->timeout_ms * 1000, on_timeout, call);
    if (sim_happens(SIM_REMOTE_DROPPED_BEFORE)) {
        answer_send(call, MG_SENT_MAYBE, "connection reset");
    } else {
        sim_after(NULL, sim_draw_delay_us(HOP_US), on_arrival, call);
    }
    return MG_OK;
}

void mg_http_call_cancel(struct mg_http_call *call)
{
    call->is_over = true;
}

/* ---- faults ---- */

static void on_away(void *arg)
{
    (void)arg;
    sim_happened(SIM_REMOTE_DOWN);
    uint64_t service = sim_draw((uint64_t)sim_service_count());
    remote.away_until_us[service] = sim_now_us() + sim_draw_between(500000, AWAY_MAX_US);
    sim_trace("%s is away", NAMES[service]);
}

static void on_ailing(void *arg)
{
    (void)arg;
    sim_happened(SIM_REMOTE_AILING);
    uint64_t service = sim_draw((uint64_t)sim_service_count());
    remote.ails_until_us[service] = sim_now_us() + sim_draw_between(500000, AWAY_MAX_US);
    sim_trace("%s ails", NAMES[service]);
}

void sim_remote_heal(void)
{
    memset(remote.ails_until_us, 0, sizeof(remote.ails_until_us));
    memset(remote.away_until_us, 0, sizeof(remote.away_until_us));
}

void sim_remote_start(void)
{
    sim_every(SIM_REMOTE_DOWN, on_away);
    sim_every(SIM_REMOTE_AILING, on_ailing);
    sim_rough_start();
}
