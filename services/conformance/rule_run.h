/* One run: its state, and the steps that its parts share. conformance.c puts the parts in their order. */
#ifndef MG_CONFORMANCE_RULE_RUN_H
#define MG_CONFORMANCE_RULE_RUN_H

#include "peer.h"

/* Each order has a key of its own. */
enum mg_run_order {
    MG_RUN_ORDER_FIRST = 1,
    MG_RUN_ORDER_HIGH,
    MG_RUN_ORDER_AGAIN,
    MG_RUN_ORDER_ONCE,
    MG_RUN_ORDER_LATE,
    MG_RUN_ORDER_PAUSED,
    MG_RUN_ORDER_CLOCK,
};

struct mg_run {
    struct mg_peer *peer;
    struct mg_conformance *to;
    int64_t timeout_ms;
    struct mg_sent *first; /* the do of MG_RUN_ORDER_FIRST */
    bool is_deserted;      /* no agent consumes any more */
};

void mg_run_judge(struct mg_run *run, enum mg_rule rule, enum mg_keeping keeping, const char *format, ...)
    MG_PRINTF(4, 5);
/* "transient, executed no, service_paused" */
#define MG_RUN_ANSWER_SIZE 256
const char *mg_run_answer(const struct mg_reply *reply, char ret[MG_RUN_ANSWER_SIZE]);
bool mg_run_is_good(const struct mg_reply *reply); /* done or accepted */
bool mg_run_is_uncalled(const struct mg_reply *reply, enum mg_error_reason reason);

/* False: the agent has ended meanwhile, so the rule is judged as not shown. */
bool mg_run_is_served(struct mg_run *run, enum mg_rule rule);

bool mg_run_has_reply(const struct mg_peer *peer, const struct mg_sent *sent); /* a condition */
/* NULL: no memory, as the peer notes. The next ones accept it. */
struct mg_sent *mg_run_make(struct mg_run *run, enum mg_kind kind, enum mg_run_order order);
void mg_run_publish(struct mg_run *run, struct mg_sent *sent);
/* Sends it and waits for the answer; false: none came. */
bool mg_run_ask(struct mg_run *run, struct mg_sent *sent);
/* Takes the message before the agent, so that it comes to it as a redelivery `hold_ms` later. False: the
 * agent was faster. */
bool mg_run_ask_again(struct mg_run *run, struct mg_sent *sent, int64_t hold_ms);

/* The check of one rule, and a series of them, each while an agent is there. */
struct mg_run_check {
    enum mg_rule rule;
    void (*check)(struct mg_run *run);
};
void mg_run_checks(struct mg_run *run, const struct mg_run_check *checks, size_t count);

/* settings.c */
void mg_run_reports(struct mg_run *run); /* and waits until the agent can know the database's clock */
void mg_run_pause(struct mg_run *run);
void mg_run_resume(struct mg_run *run);
void mg_run_limit(struct mg_run *run);
void mg_run_clock(struct mg_run *run);
/* rules_answered.c */
bool mg_run_answered(struct mg_run *run); /* false: no request is answered */
void mg_run_undo(struct mg_run *run);     /* undoes all that was done */
/* rules_unanswered.c */
void mg_run_unanswered(struct mg_run *run);

#endif
