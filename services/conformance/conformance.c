/*
 * The script of a run, and its rules: a rule is a row of a table and the check of its answers. A rule is
 * broken only by a message that came, or that did not come within its time, against the protocol. If an
 * earlier failure prevents the check of a rule, its verdict is "not shown".
 */
#include "conformance.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "json/differ.h"
#include "peer.h"

/* A program that keeps an agent alive has started it again by then. */
#define DESERTED_MS      5000
#define DESERTED_LOOK_MS 250
/* A report is due every 5 s, and at once after a change of settings. */
#define REPORT_MS (MG_SERVICE_REPORT_PERIOD_MS + 3000)
/* By then an agent that ended while the test began is forgotten, with its last report of other settings. */
#define SETTINGS_MS (MG_SERVICE_REPORT_VALID_MS + 3000)
/* An agent knows the database's clock by three of the supervisor's messages, one a second. */
#define CLOCK_MESSAGES 5
#define LIMIT_CALLS    6
#define LIMIT_RATE     2.0
#define LIMIT_SHARE    0.85 /* of the due time: timers have a grain */
#define CLOCK_STEP_MS  (-90 * 1000)
#define CLOCK_TRIES    3    /* a request that seems late may be answered uncalled, and is sent again */
#define SILENCE_MS     6000 /* an agent holds a doubtful request for at most 4.5 s */
/* The time of a request that is returned after it is over. */
#define LATE_WITHIN_MS 1500
#define LATE_MARGIN_MS 500
#define GONE_MS        8000 /* a refused message comes to the dead letters within it; a newer one is redelivered */
#define UNREADABLE_MAX 3
#define HUGE_BYTES     ((size_t)1024 * 1024 - 64) /* the largest that the broker's interface sends */

static const enum mg_keeping KEPT = MG_KEEPING_KEPT, BROKEN = MG_KEEPING_BROKEN,
                             NOT_SHOWN = MG_KEEPING_NOT_SHOWN;

/* Each order has a key of its own. */
enum order {
    ORDER_FIRST = 1,
    ORDER_HIGH,
    ORDER_AGAIN,
    ORDER_ONCE,
    ORDER_LATE,
    ORDER_PAUSED,
    ORDER_CLOCK,
};

struct run {
    struct mg_peer *peer;
    struct mg_conformance *to;
    int64_t timeout_ms;
    enum mg_rule rule;     /* that is being checked */
    struct mg_sent *first; /* the do of ORDER_FIRST */
    bool is_deserted;      /* no agent consumes any more */
};

static const char *const NAMES[MG_RULE_COUNT] = {
    [MG_RULE_REPORT] = "report",
    [MG_RULE_SETTINGS] = "settings",
    [MG_RULE_ANSWER] = "answer",
    [MG_RULE_REPEAT] = "repeat",
    [MG_RULE_VERIFY] = "verify",
    [MG_RULE_HIGH] = "high",
    [MG_RULE_REDELIVERED] = "redelivered",
    [MG_RULE_AT_MOST_ONCE] = "at_most_once",
    [MG_RULE_LATE] = "late",
    [MG_RULE_FOREIGN] = "foreign",
    [MG_RULE_UNREADABLE] = "unreadable",
    [MG_RULE_NEWER] = "newer",
    [MG_RULE_PAUSE] = "pause",
    [MG_RULE_RESUME] = "resume",
    [MG_RULE_LIMIT] = "limit",
    [MG_RULE_CLOCK] = "clock",
    [MG_RULE_UNDO] = "undo",
    [MG_RULE_REPLIES] = "replies",
};

const char *mg_rule_name(enum mg_rule rule)
{
    return NAMES[rule];
}

/* ---- verdicts ---- */

static void MG_PRINTF(3, 4) judge(struct run *run, enum mg_keeping keeping, const char *format, ...)
{
    struct mg_finding *finding = &run->to->findings[run->rule];
    va_list args;
    finding->keeping = keeping;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    mg_utf8_mend(finding->text);
}

/* "transient, executed no, service_paused" */
struct answer {
    char text[256];
};

static struct answer answer_of(const struct mg_reply *reply)
{
    struct answer answer;
    snprintf(answer.text, sizeof(answer.text), "%s, executed %s%s%s", mg_outcome_name(reply->outcome),
             mg_executed_name(reply->executed), reply->error_code[0] != '\0' ? ", " : "", reply->error_code);
    return answer;
}

static bool is_good(const struct mg_reply *reply)
{
    return reply->outcome == MG_OUTCOME_DONE || reply->outcome == MG_OUTCOME_ACCEPTED;
}

static bool is_uncalled(const struct mg_reply *reply, enum mg_error_reason reason)
{
    return reply->outcome == MG_OUTCOME_TRANSIENT && reply->executed == MG_EXECUTED_NO &&
           reply->error_reason == reason;
}

/* ---- the agent ---- */

/* Not while this side consumes. If the broker cannot be asked, the peer notices that it is lost. */
static bool has_consumer(const struct mg_peer *peer)
{
    struct mg_service_queues requests = {0};
    struct mg_err err;
    return mg_topology_ask_queue(&peer->options->address, peer->request_queue, &requests, &err) != MG_OK ||
           requests.consumers > 0;
}

/* False: the agent has ended meanwhile, so the rule is judged as not shown. */
static bool is_served(struct run *run, enum mg_rule rule)
{
    int64_t until_boot_ms = mg_clock_boot_ms() + DESERTED_MS;
    bool is_there = !run->is_deserted && has_consumer(run->peer);
    run->rule = rule;
    while (!is_there && !run->is_deserted) {
        mg_peer_rest(run->peer, DESERTED_LOOK_MS);
        is_there = has_consumer(run->peer);
        run->is_deserted = !is_there && mg_clock_boot_ms() >= until_boot_ms;
    }
    if (!is_there) {
        judge(run, NOT_SHOWN, "the agent has ended at an earlier rule");
    }
    return is_there;
}

/* ---- requests ---- */

static bool has_reply(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)peer;
    return sent->replies > 0;
}

static bool has_every_reply(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)peer;
    return sent->replies >= sent->copies;
}

static bool is_taken(const struct mg_peer *peer, const struct mg_sent *sent)
{
    return sent->taken != NULL || has_reply(peer, sent);
}

/* NULL: no memory, as the peer notes. The next ones accept it. */
static struct mg_sent *make(struct run *run, enum mg_kind kind, enum order order)
{
    const struct mg_peer_plan plan = {.kind = kind, .order = order, .within_ms = run->timeout_ms};
    return mg_peer_make(run->peer, &plan);
}

static void publish(struct run *run, struct mg_sent *sent)
{
    if (sent != NULL) {
        mg_peer_publish(run->peer, sent);
    }
}

/* Sends it and waits for the answer; false: none came. */
static bool ask(struct run *run, struct mg_sent *sent)
{
    publish(run, sent);
    return sent != NULL && mg_peer_wait(run->peer, has_every_reply, sent, run->timeout_ms);
}

/* The same; without an answer the rule is broken. */
static bool is_answered(struct run *run, struct mg_sent *sent, const char *what)
{
    bool is_there = ask(run, sent);
    if (!is_there) {
        judge(run, BROKEN, "%s got no reply", what);
    }
    return is_there;
}

/* Takes the message before the agent, so that it comes to it as a redelivery `hold_ms` later. False: the
 * agent was faster, so the rule is not shown. */
static bool ask_again(struct run *run, struct mg_sent *sent, int64_t hold_ms)
{
    bool is_ours = false;
    if (sent != NULL && mg_peer_take_begin(run->peer)) {
        mg_peer_publish(run->peer, sent);
        (void)mg_peer_wait(run->peer, is_taken, sent, run->timeout_ms);
        is_ours = sent->taken != NULL;
        mg_peer_rest(run->peer, is_ours ? hold_ms : 0);
        mg_peer_take_end(run->peer, sent);
    }
    if (!is_ours) {
        judge(run, NOT_SHOWN, "the broker gave the request to the agent at once");
    }
    return is_ours;
}

/* ---- requests that are answered ---- */

static bool do_check(struct run *run)
{
    run->first = make(run, MG_KIND_DO, ORDER_FIRST);
    if (!ask(run, run->first)) {
        judge(run, BROKEN, "no reply came within %" PRId64 " ms", run->timeout_ms);
        return false;
    }
    judge(run, KEPT, "a do was answered after %" PRId64 " ms: %s",
          run->first->replied_boot_ms - run->first->sent_boot_ms, answer_of(&run->first->first).text);
    return true;
}

/* Whether the do was answered well; another answer shows nothing more. */
static bool is_first_good(struct run *run)
{
    if (is_good(&run->first->first)) {
        return true;
    }
    judge(run, NOT_SHOWN, "the do was not done: %s. --path and --payload give it another call",
          answer_of(&run->first->first).text);
    return false;
}

static void on_difference(void *arg, const char *pointer, struct mg_slice expected, struct mg_slice actual)
{
    (void)arg;
    (void)pointer;
    (void)expected;
    (void)actual;
}

static bool is_other_result(const struct mg_reply *first, const struct mg_reply *last)
{
    if (first->result.data == NULL || last->result.data == NULL) {
        return first->result.data != last->result.data;
    }
    return mg_json_differ(first->result, last->result, "", MG_DIFFER_WHOLE, on_difference, NULL) > 0;
}

static void repeat_check(struct run *run)
{
    const struct mg_sent *sent = run->first;
    if (!is_answered(run, run->first, "the second copy of a request") || !is_first_good(run)) {
        return;
    }
    if (sent->last.outcome != sent->first.outcome) {
        judge(run, BROKEN, "the first copy was answered %s, the second one %s", answer_of(&sent->first).text,
              answer_of(&sent->last).text);
    } else if (is_other_result(&sent->first, &sent->last)) {
        judge(run, BROKEN, "the same key has another result the second time: it seems to have acted twice");
    } else {
        judge(run, KEPT, "both copies were answered alike");
    }
}

static void verify_check(struct run *run)
{
    struct mg_sent *sent = make(run, MG_KIND_VERIFY, ORDER_FIRST);
    if (!is_answered(run, sent, "a verify") || !is_first_good(run)) {
        return;
    }
    if (sent->first.outcome == MG_OUTCOME_ABSENT) {
        judge(run, BROKEN, "the do was done, and its verify was answered %s", answer_of(&sent->first).text);
    } else {
        judge(run, is_good(&sent->first) ? KEPT : NOT_SHOWN, "a verify was answered %s",
              answer_of(&sent->first).text);
    }
}

static void high_check(struct run *run)
{
    const struct mg_peer_plan plan = {
        .kind = MG_KIND_DO, .order = ORDER_HIGH, .within_ms = run->timeout_ms, .is_high = true};
    bool has_answer = ask(run, mg_peer_make(run->peer, &plan));
    judge(run, has_answer ? KEPT : BROKEN, "a request in agent.%s.requests.high %s",
          run->peer->options->service, has_answer ? "was answered" : "got no reply");
}

static void redelivery_check(struct run *run)
{
    struct mg_sent *sent = make(run, MG_KIND_DO, ORDER_AGAIN);
    if (!ask_again(run, sent, 0)) {
        return;
    }
    if (!mg_peer_wait(run->peer, has_reply, sent, run->timeout_ms)) {
        judge(run, BROKEN, "a redelivered request got no reply");
    } else if (sent->first.executed == MG_EXECUTED_NO || !sent->first.may_still_act) {
        judge(run, BROKEN,
              "a redelivered do was answered %s%s: the delivery before may have acted, or be at work",
              answer_of(&sent->first).text, sent->first.may_still_act ? "" : ", without may_still_act");
    } else {
        judge(run, KEPT, "a redelivered do was answered %s, with may_still_act",
              answer_of(&sent->first).text);
    }
}

static void once_check(struct run *run)
{
    const struct mg_peer_plan plan = {
        .kind = MG_KIND_DO, .order = ORDER_ONCE, .within_ms = run->timeout_ms, .is_at_most_once = true};
    struct mg_sent *sent = mg_peer_make(run->peer, &plan);
    if (!ask_again(run, sent, 0)) {
        return;
    }
    if (!mg_peer_wait(run->peer, has_reply, sent, run->timeout_ms)) {
        judge(run, BROKEN, "a redelivered request with at_most_once got no reply; unknown is due");
    } else if (sent->first.outcome != MG_OUTCOME_UNKNOWN || sent->first.executed == MG_EXECUTED_NO) {
        judge(run, BROKEN,
              "a redelivered request with at_most_once was answered %s; unknown is due, without a call",
              answer_of(&sent->first).text);
    } else {
        judge(run, KEPT, "a redelivery was answered %s", answer_of(&sent->first).text);
    }
}

/* ---- messages that get no answer: late, foreign, unreadable and newer ones ---- */

static bool has_ended(const struct mg_peer *peer, const struct mg_sent *sent)
{
    return sent->is_dead || has_reply(peer, sent);
}

static bool is_gone(const struct mg_peer *peer, const struct mg_sent *sent)
{
    return sent->taken != NULL || has_ended(peer, sent);
}

struct silent {
    struct mg_sent *late, *foreign, *newer, *unreadable[UNREADABLE_MAX];
    bool is_late;
};

static struct mg_sent *changed(struct run *run, const char *name, const char *pointer, const char *value)
{
    struct mg_sent *sent = make(run, MG_KIND_VERIFY, ORDER_FIRST);
    struct mg_buf body;
    struct mg_err err;
    struct mg_sent *made = NULL;
    mg_buf_init(&body, MG_REQUEST_LIMITS.max_bytes);
    if (sent != NULL && mg_json_set(sent->body, pointer, mg_slice_of(value), &body, &err) == MG_OK) {
        made = mg_peer_make_raw(run->peer, name, mg_buf_slice(&body));
    }
    mg_buf_finish(&body);
    if (made != NULL) {
        made->request = sent->request; /* a reply to it is recognised */
        sent->request = (struct mg_request){.attempt = 0};
    }
    return made;
}

static void silent_send(struct run *run, struct silent *ret)
{
    static char huge[HUGE_BYTES]; /* deep as well: a reader without a bound recurses */
    const struct mg_peer_plan plan = {.kind = MG_KIND_DO, .order = ORDER_LATE, .within_ms = LATE_WITHIN_MS};
    memset(huge, '[', sizeof(huge));
    ret->foreign = changed(run, "foreign", "/service", "\"another-service\"");
    ret->newer = changed(run, "newer", "/v", "99");
    ret->unreadable[0] = mg_peer_make_raw(run->peer, "text", mg_slice_of("not JSON"));
    ret->unreadable[1] = mg_peer_make_raw(run->peer, "members", mg_slice_of("{\"v\":1,\"kind\":\"do\"}"));
    ret->unreadable[2] = mg_peer_make_raw(run->peer, "huge", (struct mg_slice){huge, sizeof(huge)});
    ret->late = mg_peer_make(run->peer, &plan);
    run->rule = MG_RULE_LATE;
    ret->is_late = ask_again(run, ret->late, LATE_WITHIN_MS + LATE_MARGIN_MS);
    publish(run, ret->foreign);
    for (int i = 0; i < UNREADABLE_MAX; i++) {
        publish(run, ret->unreadable[i]);
    }
    publish(run, ret->newer);
}

/* A message that should be set aside: neither answered nor lost. */
static bool dead_check(struct run *run, enum mg_rule rule, const struct mg_sent *sent, const char *what)
{
    bool is_settled = sent != NULL && mg_peer_wait(run->peer, has_ended, sent, GONE_MS);
    bool is_kept = is_settled && sent->replies == 0;
    run->rule = rule;
    if (is_kept) {
        judge(run, KEPT, "%s came to dead.letters", what);
    } else if (is_settled) {
        judge(run, BROKEN, "%s was answered %s", what, answer_of(&sent->first).text);
    } else {
        judge(run, BROKEN,
              "%s did not come to dead.letters within %d s: it is lost, or is redelivered again and again",
              what, GONE_MS / 1000);
    }
    return is_kept;
}

static void unreadable_check(struct run *run, const struct silent *silent)
{
    static const char *const whats[UNREADABLE_MAX] = {"a message that is not JSON",
                                                      "a request without its members", "a message of 1 MiB"};
    bool is_kept = true;
    for (int i = 0; i < UNREADABLE_MAX && is_kept; i++) {
        is_kept = dead_check(run, MG_RULE_UNREADABLE, silent->unreadable[i], whats[i]);
    }
    if (is_kept) {
        judge(run, KEPT, "three messages that are no requests came to dead.letters");
    }
}

/* It is returned to the queue again and again, where this side can take it. */
static void newer_check(struct run *run, struct mg_sent *sent)
{
    if (sent == NULL || !mg_peer_take_begin(run->peer)) {
        return;
    }
    bool is_kept = mg_peer_wait(run->peer, is_gone, sent, GONE_MS);
    if (sent->replies > 0) {
        judge(run, BROKEN, "a request of version 99 was answered %s", answer_of(&sent->first).text);
    } else {
        judge(run, is_kept ? KEPT : BROKEN, "a request of version 99 %s",
              is_kept ? "was left for another agent" : "is lost: neither returned nor in dead.letters");
    }
    mg_peer_drop(run->peer, sent);
    mg_peer_take_end(run->peer, sent);
}

static void late_check(struct run *run, const struct silent *silent)
{
    run->rule = MG_RULE_LATE;
    if (silent->late->replies > 0) {
        judge(run, BROKEN, "a request whose complete_by had passed was answered %s; nothing is due",
              answer_of(&silent->late->first).text);
    } else if (is_served(run, MG_RULE_LATE)) {
        judge(run, KEPT, "nothing came to a request whose complete_by had passed");
    }
}

static void unanswered_check(struct run *run)
{
    struct silent silent = {0};
    if (!is_served(run, MG_RULE_FOREIGN)) {
        for (enum mg_rule rule = MG_RULE_LATE; rule <= MG_RULE_NEWER; rule++) {
            (void)is_served(run, rule); /* not shown */
        }
        return;
    }
    silent_send(run, &silent);
    int64_t until_boot_ms = mg_clock_boot_ms() + SILENCE_MS;
    (void)dead_check(run, MG_RULE_FOREIGN, silent.foreign, "a request for another service");
    unreadable_check(run, &silent);
    if (is_served(run, MG_RULE_NEWER)) {
        newer_check(run, silent.newer);
    }
    mg_peer_rest(run->peer, until_boot_ms - mg_clock_boot_ms());
    if (silent.is_late) {
        late_check(run, &silent);
    }
}

/* ---- reports, operator settings and the database's clock ---- */

static bool has_report(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)sent;
    return peer->agent_count > 0;
}

/* One that reports other settings; NULL: none does. */
static const struct mg_peer_agent *differing(const struct mg_peer *peer)
{
    for (int i = 0; i < peer->agent_count; i++) {
        if (peer->agents[i].version != peer->control.version) {
            return &peer->agents[i];
        }
    }
    return NULL;
}

static bool has_settings(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)sent;
    return peer->agent_count > 0 && differing(peer) == NULL;
}

static bool has_clock(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)sent;
    return peer->controls >= CLOCK_MESSAGES;
}

static void clock_await(struct run *run)
{
    (void)mg_peer_wait(run->peer, has_clock, NULL, (CLOCK_MESSAGES + 2) * MG_SERVICE_CONTROL_PERIOD_MS);
}

static void settings_send(struct run *run)
{
    run->peer->control.version++;
    mg_peer_control(run->peer);
    if (run->to->findings[MG_RULE_SETTINGS].keeping == KEPT) {
        (void)mg_peer_wait(run->peer, has_settings, NULL, REPORT_MS);
    } else {
        mg_peer_rest(run->peer, MG_SERVICE_CONTROL_PERIOD_MS);
    }
}

static void settings_check(struct run *run)
{
    const struct mg_peer *peer = run->peer;
    const struct mg_peer_agent *other = differing(peer);
    run->rule = MG_RULE_SETTINGS;
    if (peer->agent_count == 0) {
        judge(run, NOT_SHOWN, "it does not report");
    } else if (other == NULL) {
        judge(run, KEPT, "it reports version %" PRIu64 " of the settings", peer->control.version);
    } else {
        judge(run, BROKEN,
              "the settings have version %" PRIu64 ", and it reports version %" PRIu64
              " of them: an operator's command seems to have no effect",
              peer->control.version, other->version);
    }
}

/* And waits until the agent can know the database's clock. */
static void reports_check(struct run *run)
{
    struct mg_peer *peer = run->peer;
    if (mg_peer_wait(peer, has_report, NULL, REPORT_MS)) {
        (void)mg_peer_wait(peer, has_settings, NULL, SETTINGS_MS);
    }
    run->rule = MG_RULE_REPORT;
    if (peer->agent_count > 0) {
        judge(run, KEPT, "it reports as %s", peer->agents[0].instance);
    } else {
        judge(run, BROKEN,
              "no service_report of %s in %d s; one is due every 5 s. Without any, schedulers do not know "
              "that an agent is ready",
              peer->options->service, REPORT_MS / 1000);
    }
    settings_check(run);
    clock_await(run);
}

static void pause_check(struct run *run)
{
    run->peer->control.is_paused = true;
    settings_send(run);
    struct mg_sent *sent = make(run, MG_KIND_DO, ORDER_PAUSED);
    if (!ask(run, sent)) {
        judge(run, BROKEN, "a request during a pause got no reply; its attempt is used up");
    } else if (!is_uncalled(&sent->first, MG_ERROR_REASON_SERVICE_PAUSED)) {
        judge(run, BROKEN,
              "a request during a pause was answered %s; due is transient, executed no, service_paused",
              answer_of(&sent->first).text);
    } else {
        judge(run, KEPT, "a request during a pause was answered %s", answer_of(&sent->first).text);
    }
    run->peer->control.is_paused = false;
    settings_send(run);
}

static void resume_check(struct run *run)
{
    struct mg_sent *sent = make(run, MG_KIND_DO, ORDER_PAUSED);
    if (is_answered(run, sent, "a request after the pause")) {
        bool is_called = !is_uncalled(&sent->first, MG_ERROR_REASON_SERVICE_PAUSED);
        judge(run, is_called ? KEPT : BROKEN, "a request after the pause was answered %s",
              answer_of(&sent->first).text);
    }
}

static void shares_set(struct mg_peer *peer)
{
    peer->control.is_limited = true;
    peer->control.share_count = peer->agent_count;
    for (int i = 0; i < peer->agent_count; i++) {
        struct mg_share *share = &peer->control.shares[i];
        *share = (struct mg_share){.rate_per_s = LIMIT_RATE / peer->agent_count};
        memcpy(share->instance, peer->agents[i].instance, sizeof(share->instance));
    }
}

/* The first call may begin at once, the last one after the others' time. Each process has a first one. */
static void limit_check(struct run *run)
{
    struct mg_peer *peer = run->peer;
    struct mg_sent *sent[LIMIT_CALLS];
    if (peer->agent_count == 0 || peer->agent_count >= LIMIT_CALLS) {
        judge(run, NOT_SHOWN, "%s",
              peer->agent_count == 0 ? "it does not report, so it has no share of a limit"
                                     : "so many agents share the limit that each makes one call");
        return;
    }
    shares_set(peer);
    settings_send(run);
    int64_t began_ms = mg_clock_boot_ms(), ended_ms = began_ms, most_ms = 0;
    bool has_all = true;
    for (int i = 0; i < LIMIT_CALLS; i++) {
        sent[i] = make(run, MG_KIND_VERIFY, ORDER_FIRST);
        publish(run, sent[i]);
    }
    for (int i = 0; i < LIMIT_CALLS; i++) {
        has_all = has_all && sent[i] != NULL && mg_peer_wait(peer, has_reply, sent[i], run->timeout_ms);
        has_all = has_all && !is_uncalled(&sent[i]->first, MG_ERROR_REASON_SERVICE_PAUSED);
        ended_ms = has_all && sent[i]->replied_boot_ms > ended_ms ? sent[i]->replied_boot_ms : ended_ms;
    }
    most_ms = (int64_t)((LIMIT_CALLS - peer->agent_count) * 1000 / LIMIT_RATE * LIMIT_SHARE);
    if (!has_all) {
        judge(run, NOT_SHOWN, "not all of %d requests were answered by a call", LIMIT_CALLS);
    } else {
        judge(run, ended_ms - began_ms >= most_ms ? KEPT : BROKEN,
              "at %.0f calls a second, %d requests were answered in %" PRId64 " ms; at least %" PRId64
              " are due",
              LIMIT_RATE, LIMIT_CALLS, ended_ms - began_ms, most_ms);
    }
    peer->control.is_limited = false;
    peer->control.share_count = 0;
    settings_send(run);
}

static void clock_set(struct run *run, int64_t offset_ms)
{
    run->peer->offset_ms = offset_ms;
    run->peer->controls = 0;
    clock_await(run);
}

/* The database's clock goes back, and the machine's stays. */
static void clock_check(struct run *run)
{
    bool is_called = false, has_answer = false;
    struct mg_sent *sent = NULL;
    clock_set(run, CLOCK_STEP_MS);
    for (int i = 0; i < CLOCK_TRIES && !is_called; i++) {
        sent = make(run, MG_KIND_DO, ORDER_CLOCK);
        has_answer = ask(run, sent);
        is_called = has_answer && !is_uncalled(&sent->first, MG_ERROR_REASON_BREAKER_OPEN);
    }
    if (!has_answer) {
        judge(run, BROKEN,
              "the database's clock went back by %d s, and requests by it get no reply: they seem late by "
              "the machine's clock",
              -CLOCK_STEP_MS / 1000);
    } else {
        judge(run, is_called ? KEPT : BROKEN,
              "%d s after the database's clock went back by %d s a request was answered %s", CLOCK_MESSAGES,
              -CLOCK_STEP_MS / 1000, answer_of(&sent->first).text);
    }
    clock_set(run, 0);
}

/* ---- the script ---- */

/* Undoes all that was done, too. */
static void undo_check(struct run *run)
{
    struct mg_sent *sent = make(run, MG_KIND_UNDO, ORDER_FIRST);
    bool has_answer = is_answered(run, sent, "an undo");
    if (has_answer && is_first_good(run)) {
        bool is_undone = is_good(&sent->first) || sent->first.outcome == MG_OUTCOME_ABSENT;
        judge(run, is_undone ? KEPT : NOT_SHOWN, "an undo was answered %s", answer_of(&sent->first).text);
    }
    for (enum order order = ORDER_HIGH; has_answer && order <= ORDER_CLOCK; order++) {
        has_answer = ask(run, make(run, MG_KIND_UNDO, order));
    }
}

static void replies_check(struct run *run)
{
    const struct mg_peer *peer = run->peer;
    run->rule = MG_RULE_REPLIES;
    if (peer->faulty == 0) {
        judge(run, KEPT, "every reply has the form and the identity of its request");
    } else {
        judge(run, BROKEN, "%d are wrong; the first: %s", peer->faulty, peer->fault);
    }
}

struct check {
    enum mg_rule rule;
    void (*check)(struct run *run);
};

/* Each while an agent is there. */
static void checks_run(struct run *run, const struct check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_served(run, checks[i].rule)) {
            checks[i].check(run);
        }
    }
}

static void script(struct run *run)
{
    static const struct check ANSWERED[] = {
        {MG_RULE_REPEAT, repeat_check},     {MG_RULE_VERIFY, verify_check},
        {MG_RULE_HIGH, high_check},         {MG_RULE_REDELIVERED, redelivery_check},
        {MG_RULE_AT_MOST_ONCE, once_check},
    };
    static const struct check SETTINGS[] = {
        {MG_RULE_PAUSE, pause_check}, {MG_RULE_RESUME, resume_check}, {MG_RULE_LIMIT, limit_check},
        {MG_RULE_CLOCK, clock_check}, {MG_RULE_UNDO, undo_check},
    };
    for (run->rule = 0; run->rule < MG_RULE_COUNT; run->rule++) {
        judge(run, NOT_SHOWN, "it answers no request");
    }
    reports_check(run);
    run->rule = MG_RULE_ANSWER;
    if (do_check(run)) {
        checks_run(run, ANSWERED, sizeof(ANSWERED) / sizeof(ANSWERED[0]));
        unanswered_check(run);
        checks_run(run, SETTINGS, sizeof(SETTINGS) / sizeof(SETTINGS[0]));
    }
    replies_check(run);
}

enum mg_class mg_conformance_run(const struct mg_conformance_options *options,
                                 struct mg_conformance *ret_conformance, struct mg_err *err)
{
    static struct mg_peer peer; /* too large for a stack */
    struct run run = {.peer = &peer, .to = ret_conformance, .timeout_ms = options->timeout_ms};
    *ret_conformance = (struct mg_conformance){.agents = 0};
    snprintf(ret_conformance->orders, sizeof(ret_conformance->orders), MG_PEER_PREFIX "%016" PRIx64,
             mg_random_u64());
    enum mg_class class = mg_peer_open(&peer, options, ret_conformance->orders, err);
    if (class == MG_OK && peer.others == 0) {
        script(&run);
        ret_conformance->agents = peer.agent_count;
    }
    if (class == MG_OK && peer.is_crowded) {
        class =
            mg_err_set(err, MG_STALE,
                       "a scheduler or a supervisor is at work here: stop it, or use another virtual host");
    } else if (class == MG_OK && peer.others > 0) {
        class = mg_err_set(err, MG_STALE,
                           "%s holds %d replies to requests of others: let schedulers take them, or use "
                           "another virtual host",
                           MG_QUEUE_REPLIES, peer.others);
    } else if (class == MG_OK && peer.lost[0] != '\0') {
        class = mg_err_set(err, MG_TRANSIENT, "the broker was lost: %s", peer.lost);
    }
    mg_peer_close(&peer);
    return class;
}
