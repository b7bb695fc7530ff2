/* The rules about reports, operator settings and the database's clock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rule_run.h"

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
#define CLOCK_TRIES    3 /* a request that seems late may be answered uncalled, and is sent again */

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

static void settings_send(struct mg_run *run)
{
    run->peer->control.version++;
    mg_peer_control(run->peer);
    if (run->to->findings[MG_RULE_SETTINGS].keeping == MG_KEEPING_KEPT) {
        (void)mg_peer_wait(run->peer, has_settings, NULL, REPORT_MS);
    } else {
        mg_peer_rest(run->peer, MG_SERVICE_CONTROL_PERIOD_MS);
    }
}

void mg_run_reports(struct mg_run *run)
{
    struct mg_peer *peer = run->peer;
    if (mg_peer_wait(peer, has_report, NULL, REPORT_MS)) {
        (void)mg_peer_wait(peer, has_settings, NULL, SETTINGS_MS);
    }
    const struct mg_peer_agent *other = differing(peer);
    if (peer->agent_count == 0) {
        mg_run_judge(
            run, MG_RULE_REPORT, MG_KEEPING_BROKEN,
            "no service_report of %s in %d s; one is due every 5 s. Without any, schedulers do not know "
            "that an agent is ready",
            peer->options->service, REPORT_MS / 1000);
        mg_run_judge(run, MG_RULE_SETTINGS, MG_KEEPING_NOT_SHOWN, "it does not report");
    } else {
        mg_run_judge(run, MG_RULE_REPORT, MG_KEEPING_KEPT, "it reports as %s", peer->agents[0].instance);
        if (other == NULL) {
            mg_run_judge(run, MG_RULE_SETTINGS, MG_KEEPING_KEPT,
                         "it reports version %" PRIu64 " of the settings", peer->control.version);
        } else {
            mg_run_judge(run, MG_RULE_SETTINGS, MG_KEEPING_BROKEN,
                         "the settings have version %" PRIu64 ", and it reports version %" PRIu64
                         " of them: an operator's command seems to have no effect",
                         peer->control.version, other->version);
        }
    }
    (void)mg_peer_wait(peer, has_clock, NULL, (CLOCK_MESSAGES + 2) * MG_SERVICE_CONTROL_PERIOD_MS);
}

void mg_run_pause(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    run->peer->control.is_paused = true;
    settings_send(run);
    struct mg_sent *sent = mg_run_make(run, MG_KIND_DO, MG_RUN_ORDER_PAUSED);
    if (!mg_run_ask(run, sent)) {
        mg_run_judge(run, MG_RULE_PAUSE, MG_KEEPING_BROKEN,
                     "a request during a pause got no reply; its attempt is used up");
    } else if (!mg_run_is_uncalled(&sent->first, MG_ERROR_REASON_SERVICE_PAUSED)) {
        mg_run_judge(run, MG_RULE_PAUSE, MG_KEEPING_BROKEN,
                     "a request during a pause was answered %s; due is transient, "
                     "executed no, service_paused",
                     mg_run_answer(&sent->first, answer));
    } else {
        mg_run_judge(run, MG_RULE_PAUSE, MG_KEEPING_KEPT, "a request during a pause was answered %s",
                     mg_run_answer(&sent->first, answer));
    }
    run->peer->control.is_paused = false;
    settings_send(run);
}

void mg_run_resume(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    struct mg_sent *sent = mg_run_make(run, MG_KIND_DO, MG_RUN_ORDER_PAUSED);
    if (!mg_run_ask(run, sent)) {
        mg_run_judge(run, MG_RULE_RESUME, MG_KEEPING_BROKEN, "a request after the pause got no reply");
    } else {
        bool is_called = !mg_run_is_uncalled(&sent->first, MG_ERROR_REASON_SERVICE_PAUSED);
        mg_run_judge(run, MG_RULE_RESUME, is_called ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN,
                     "a request after the pause was answered %s", mg_run_answer(&sent->first, answer));
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
void mg_run_limit(struct mg_run *run)
{
    struct mg_peer *peer = run->peer;
    struct mg_sent *sent[LIMIT_CALLS];
    if (peer->agent_count == 0 || peer->agent_count >= LIMIT_CALLS) {
        mg_run_judge(run, MG_RULE_LIMIT, MG_KEEPING_NOT_SHOWN, "%s",
                     peer->agent_count == 0 ? "it does not report, so it has no share of a limit"
                                            : "so many agents share the limit that each makes one call");
        return;
    }
    shares_set(peer);
    settings_send(run);
    int64_t began_ms = mg_clock_boot_ms(), ended_ms = began_ms, most_ms = 0;
    bool has_all = true;
    for (int i = 0; i < LIMIT_CALLS; i++) {
        sent[i] = mg_run_make(run, MG_KIND_VERIFY, MG_RUN_ORDER_FIRST);
        mg_run_publish(run, sent[i]);
    }
    for (int i = 0; i < LIMIT_CALLS; i++) {
        has_all =
            has_all && sent[i] != NULL && mg_peer_wait(peer, mg_run_has_reply, sent[i], run->timeout_ms);
        has_all = has_all && !mg_run_is_uncalled(&sent[i]->first, MG_ERROR_REASON_SERVICE_PAUSED);
        ended_ms = has_all && sent[i]->replied_boot_ms > ended_ms ? sent[i]->replied_boot_ms : ended_ms;
    }
    most_ms = (int64_t)((LIMIT_CALLS - peer->agent_count) * 1000 / LIMIT_RATE * LIMIT_SHARE);
    if (!has_all) {
        mg_run_judge(run, MG_RULE_LIMIT, MG_KEEPING_NOT_SHOWN,
                     "not all of %d requests were answered by a call", LIMIT_CALLS);
    } else {
        mg_run_judge(run, MG_RULE_LIMIT, ended_ms - began_ms >= most_ms ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN,
                     "at %.0f calls a second, %d requests were answered in %" PRId64 " ms; at least %" PRId64
                     " are due",
                     LIMIT_RATE, LIMIT_CALLS, ended_ms - began_ms, most_ms);
    }
    peer->control.is_limited = false;
    peer->control.share_count = 0;
    settings_send(run);
}

static void clock_set(struct mg_run *run, int64_t offset_ms)
{
    run->peer->offset_ms = offset_ms;
    run->peer->controls = 0;
    (void)mg_peer_wait(run->peer, has_clock, NULL, (CLOCK_MESSAGES + 2) * MG_SERVICE_CONTROL_PERIOD_MS);
}

/* The database's clock goes back, and the machine's stays. */
void mg_run_clock(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    bool is_called = false, is_answered = false;
    struct mg_sent *sent = NULL;
    clock_set(run, CLOCK_STEP_MS);
    for (int i = 0; i < CLOCK_TRIES && !is_called; i++) {
        sent = mg_run_make(run, MG_KIND_DO, MG_RUN_ORDER_CLOCK);
        is_answered = mg_run_ask(run, sent);
        is_called = is_answered && !mg_run_is_uncalled(&sent->first, MG_ERROR_REASON_BREAKER_OPEN);
    }
    if (!is_answered) {
        mg_run_judge(
            run, MG_RULE_CLOCK, MG_KEEPING_BROKEN,
            "the database's clock went back by %d s, and requests by it get no reply: they seem late by "
            "the machine's clock",
            -CLOCK_STEP_MS / 1000);
    } else {
        mg_run_judge(run, MG_RULE_CLOCK, is_called ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN,
                     "%d s after the database's clock went back by %d s a request was answered %s",
                     CLOCK_MESSAGES, -CLOCK_STEP_MS / 1000, mg_run_answer(&sent->first, answer));
    }
    clock_set(run, 0);
}
