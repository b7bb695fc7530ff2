/* The script of a run. If an earlier failure prevents the check of a rule, its verdict is "not shown". */
#include <inttypes.h>
#include <stdio.h>

#include "base/id.h"
#include "rule_run.h"

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

static void replies_check(struct mg_run *run)
{
    const struct mg_peer *peer = run->peer;
    if (peer->faulty == 0) {
        mg_run_judge(run, MG_RULE_REPLIES, MG_KEEPING_KEPT,
                     "every reply has the form and the identity of its request");
    } else {
        mg_run_judge(run, MG_RULE_REPLIES, MG_KEEPING_BROKEN, "%d are wrong; the first: %s", peer->faulty,
                     peer->fault);
    }
}

static void script(struct mg_run *run)
{
    static const struct mg_run_check CHECKS[] = {
        {MG_RULE_PAUSE, mg_run_pause}, {MG_RULE_RESUME, mg_run_resume}, {MG_RULE_LIMIT, mg_run_limit},
        {MG_RULE_CLOCK, mg_run_clock}, {MG_RULE_UNDO, mg_run_undo},
    };
    for (enum mg_rule rule = 0; rule < MG_RULE_COUNT; rule++) {
        mg_run_judge(run, rule, MG_KEEPING_NOT_SHOWN, "it answers no request");
    }
    mg_run_reports(run);
    if (mg_run_answered(run)) {
        mg_run_unanswered(run);
        mg_run_checks(run, CHECKS, sizeof(CHECKS) / sizeof(CHECKS[0]));
    }
    replies_check(run);
}

enum mg_class mg_conformance_run(const struct mg_conformance_options *options,
                                 struct mg_conformance *ret_conformance, struct mg_err *err)
{
    static struct mg_peer peer; /* too large for a stack */
    struct mg_run run = {.peer = &peer, .to = ret_conformance, .timeout_ms = options->timeout_ms};
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
