/*
 * The steps that the parts of a run share. A rule is broken only by a message that came, or that did not come
 * within its time, against the protocol.
 */
#include "rule_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* A program that keeps an agent alive has started it again by then. */
#define DESERTED_MS      5000
#define DESERTED_LOOK_MS 250

/* ---- verdicts ---- */

void mg_run_judge(struct mg_run *run, enum mg_rule rule, enum mg_keeping keeping, const char *format, ...)
{
    struct mg_finding *finding = &run->to->findings[rule];
    va_list args;
    finding->keeping = keeping;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    mg_utf8_mend(finding->text);
}

const char *mg_run_answer(const struct mg_reply *reply, char ret[MG_RUN_ANSWER_SIZE])
{
    snprintf(ret, MG_RUN_ANSWER_SIZE, "%s, executed %s%s%s", mg_outcome_name(reply->outcome),
             mg_executed_name(reply->executed), reply->error_code[0] != '\0' ? ", " : "", reply->error_code);
    return ret;
}

bool mg_run_is_good(const struct mg_reply *reply)
{
    return reply->outcome == MG_OUTCOME_DONE || reply->outcome == MG_OUTCOME_ACCEPTED;
}

bool mg_run_is_uncalled(const struct mg_reply *reply, enum mg_error_reason reason)
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

bool mg_run_is_served(struct mg_run *run, enum mg_rule rule)
{
    int64_t until_boot_ms = mg_clock_boot_ms() + DESERTED_MS;
    bool is_served = !run->is_deserted && has_consumer(run->peer);
    while (!is_served && !run->is_deserted) {
        mg_peer_rest(run->peer, DESERTED_LOOK_MS);
        is_served = has_consumer(run->peer);
        run->is_deserted = !is_served && mg_clock_boot_ms() >= until_boot_ms;
    }
    if (!is_served) {
        mg_run_judge(run, rule, MG_KEEPING_NOT_SHOWN, "the agent has ended at an earlier rule");
    }
    return is_served;
}

/* ---- conditions ---- */

bool mg_run_has_reply(const struct mg_peer *peer, const struct mg_sent *sent)
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
    return sent->taken != NULL || mg_run_has_reply(peer, sent);
}

/* ---- requests ---- */

struct mg_sent *mg_run_make(struct mg_run *run, enum mg_kind kind, enum mg_run_order order)
{
    const struct mg_peer_plan plan = {.kind = kind, .order = order, .within_ms = run->timeout_ms};
    return mg_peer_make(run->peer, &plan);
}

bool mg_run_ask(struct mg_run *run, struct mg_sent *sent)
{
    if (sent == NULL) {
        return false;
    }
    mg_peer_publish(run->peer, sent);
    return mg_peer_wait(run->peer, has_every_reply, sent, run->timeout_ms);
}

bool mg_run_ask_again(struct mg_run *run, struct mg_sent *sent, int64_t hold_ms)
{
    if (sent == NULL || !mg_peer_take_begin(run->peer)) {
        return false;
    }
    mg_peer_publish(run->peer, sent);
    (void)mg_peer_wait(run->peer, is_taken, sent, run->timeout_ms);
    bool is_ours = sent->taken != NULL;
    mg_peer_rest(run->peer, is_ours ? hold_ms : 0);
    mg_peer_take_end(run->peer, sent);
    return is_ours;
}

void mg_run_publish(struct mg_run *run, struct mg_sent *sent)
{
    if (sent != NULL) {
        mg_peer_publish(run->peer, sent);
    }
}

void mg_run_checks(struct mg_run *run, const struct mg_run_check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (mg_run_is_served(run, checks[i].rule)) {
            checks[i].check(run);
        }
    }
}
