/* The rules about requests that are answered. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json/differ.h"
#include "rule_run.h"

static bool do_check(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    run->first = mg_run_make(run, MG_KIND_DO, MG_RUN_ORDER_FIRST);
    if (!mg_run_ask(run, run->first)) {
        mg_run_judge(run, MG_RULE_ANSWER, MG_KEEPING_BROKEN, "no reply came within %" PRId64 " ms",
                     run->timeout_ms);
        return false;
    }
    mg_run_judge(run, MG_RULE_ANSWER, MG_KEEPING_KEPT, "a do was answered after %" PRId64 " ms: %s",
                 run->first->replied_boot_ms - run->first->sent_boot_ms,
                 mg_run_answer(&run->first->first, answer));
    return true;
}

/* Judges a good answer to the do; another one shows nothing more. */
static bool is_first_good(struct mg_run *run, enum mg_rule rule)
{
    char answer[MG_RUN_ANSWER_SIZE];
    if (mg_run_is_good(&run->first->first)) {
        return true;
    }
    mg_run_judge(run, rule, MG_KEEPING_NOT_SHOWN,
                 "the do was not done: %s. --path and --payload give it another call",
                 mg_run_answer(&run->first->first, answer));
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

static void repeat_check(struct mg_run *run)
{
    char first[MG_RUN_ANSWER_SIZE], last[MG_RUN_ANSWER_SIZE];
    struct mg_sent *sent = run->first;
    if (!mg_run_ask(run, sent)) {
        mg_run_judge(run, MG_RULE_REPEAT, MG_KEEPING_BROKEN, "the second copy of a request got no reply");
        return;
    }
    if (!is_first_good(run, MG_RULE_REPEAT)) {
        return;
    }
    if (sent->last.outcome != sent->first.outcome) {
        mg_run_judge(run, MG_RULE_REPEAT, MG_KEEPING_BROKEN,
                     "the first copy was answered %s, the second one %s", mg_run_answer(&sent->first, first),
                     mg_run_answer(&sent->last, last));
    } else if (is_other_result(&sent->first, &sent->last)) {
        mg_run_judge(run, MG_RULE_REPEAT, MG_KEEPING_BROKEN,
                     "the same key has another result the second time: it seems to have acted twice");
    } else {
        mg_run_judge(run, MG_RULE_REPEAT, MG_KEEPING_KEPT, "both copies were answered alike");
    }
}

static void verify_check(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    struct mg_sent *sent = mg_run_make(run, MG_KIND_VERIFY, MG_RUN_ORDER_FIRST);
    if (!mg_run_ask(run, sent)) {
        mg_run_judge(run, MG_RULE_VERIFY, MG_KEEPING_BROKEN, "a verify got no reply");
    } else if (!is_first_good(run, MG_RULE_VERIFY)) {
        return;
    } else if (sent->first.outcome == MG_OUTCOME_ABSENT) {
        mg_run_judge(run, MG_RULE_VERIFY, MG_KEEPING_BROKEN,
                     "the do was done, and its verify was answered %s", mg_run_answer(&sent->first, answer));
    } else {
        mg_run_judge(run, MG_RULE_VERIFY,
                     mg_run_is_good(&sent->first) ? MG_KEEPING_KEPT : MG_KEEPING_NOT_SHOWN,
                     "a verify was answered %s", mg_run_answer(&sent->first, answer));
    }
}

void mg_run_undo(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    struct mg_sent *sent = mg_run_make(run, MG_KIND_UNDO, MG_RUN_ORDER_FIRST);
    bool is_answered = mg_run_ask(run, sent);
    bool is_undone =
        is_answered && (mg_run_is_good(&sent->first) || sent->first.outcome == MG_OUTCOME_ABSENT);
    if (!is_answered) {
        mg_run_judge(run, MG_RULE_UNDO, MG_KEEPING_BROKEN, "an undo got no reply");
    } else if (is_first_good(run, MG_RULE_UNDO)) {
        mg_run_judge(run, MG_RULE_UNDO, is_undone ? MG_KEEPING_KEPT : MG_KEEPING_NOT_SHOWN,
                     "an undo was answered %s", mg_run_answer(&sent->first, answer));
    }
    for (enum mg_run_order order = MG_RUN_ORDER_HIGH; is_answered && order <= MG_RUN_ORDER_CLOCK; order++) {
        is_answered = mg_run_ask(run, mg_run_make(run, MG_KIND_UNDO, order));
    }
}

static void high_check(struct mg_run *run)
{
    const struct mg_peer_plan plan = {
        .kind = MG_KIND_DO, .order = MG_RUN_ORDER_HIGH, .within_ms = run->timeout_ms, .is_high = true};
    bool is_answered = mg_run_ask(run, mg_peer_make(run->peer, &plan));
    mg_run_judge(run, MG_RULE_HIGH, is_answered ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN,
                 "a request in agent.%s.requests.high %s", run->peer->options->service,
                 is_answered ? "was answered" : "got no reply");
}

static void redelivery_check(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    struct mg_sent *sent = mg_run_make(run, MG_KIND_DO, MG_RUN_ORDER_AGAIN);
    if (!mg_run_ask_again(run, sent, 0)) {
        mg_run_judge(run, MG_RULE_REDELIVERED, MG_KEEPING_NOT_SHOWN,
                     "the broker gave the request to the agent at once");
    } else if (!mg_peer_wait(run->peer, mg_run_has_reply, sent, run->timeout_ms)) {
        mg_run_judge(run, MG_RULE_REDELIVERED, MG_KEEPING_BROKEN, "a redelivered request got no reply");
    } else if (sent->first.executed == MG_EXECUTED_NO || !sent->first.may_still_act) {
        mg_run_judge(run, MG_RULE_REDELIVERED, MG_KEEPING_BROKEN,
                     "a redelivered do was answered %s%s: the delivery before may have acted, or be at work",
                     mg_run_answer(&sent->first, answer),
                     sent->first.may_still_act ? "" : ", without may_still_act");
    } else {
        mg_run_judge(run, MG_RULE_REDELIVERED, MG_KEEPING_KEPT,
                     "a redelivered do was answered %s, with may_still_act",
                     mg_run_answer(&sent->first, answer));
    }
}

static void once_check(struct mg_run *run)
{
    char answer[MG_RUN_ANSWER_SIZE];
    const struct mg_peer_plan plan = {.kind = MG_KIND_DO,
                                      .order = MG_RUN_ORDER_ONCE,
                                      .within_ms = run->timeout_ms,
                                      .is_at_most_once = true};
    struct mg_sent *sent = mg_peer_make(run->peer, &plan);
    if (!mg_run_ask_again(run, sent, 0)) {
        mg_run_judge(run, MG_RULE_AT_MOST_ONCE, MG_KEEPING_NOT_SHOWN,
                     "the broker gave the request to the agent at once");
    } else if (!mg_peer_wait(run->peer, mg_run_has_reply, sent, run->timeout_ms)) {
        mg_run_judge(run, MG_RULE_AT_MOST_ONCE, MG_KEEPING_BROKEN,
                     "a redelivered request with at_most_once got no reply; unknown is due");
    } else if (sent->first.outcome != MG_OUTCOME_UNKNOWN || sent->first.executed == MG_EXECUTED_NO) {
        mg_run_judge(
            run, MG_RULE_AT_MOST_ONCE, MG_KEEPING_BROKEN,
            "a redelivered request with at_most_once was answered %s; unknown is due, without a call",
            mg_run_answer(&sent->first, answer));
    } else {
        mg_run_judge(run, MG_RULE_AT_MOST_ONCE, MG_KEEPING_KEPT, "a redelivery was answered %s",
                     mg_run_answer(&sent->first, answer));
    }
}

bool mg_run_answered(struct mg_run *run)
{
    static const struct mg_run_check CHECKS[] = {
        {MG_RULE_REPEAT, repeat_check},     {MG_RULE_VERIFY, verify_check},
        {MG_RULE_HIGH, high_check},         {MG_RULE_REDELIVERED, redelivery_check},
        {MG_RULE_AT_MOST_ONCE, once_check},
    };
    if (!do_check(run)) {
        return false;
    }
    mg_run_checks(run, CHECKS, sizeof(CHECKS) / sizeof(CHECKS[0]));
    return true;
}
