/* The rules about messages that get no answer: late, foreign, unreadable and newer ones. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rule_run.h"

#define SILENCE_MS 6000 /* an agent holds a doubtful request for at most 4.5 s */
/* The time of a request that is returned after it is over. */
#define LATE_WITHIN_MS 1500
#define LATE_MARGIN_MS 500
#define GONE_MS        8000 /* a refused message comes to the dead letters within it; a newer one is redelivered */
#define UNREADABLE_MAX 3
#define HUGE_BYTES     ((size_t)1024 * 1024 - 64) /* the largest that the broker's interface sends */

static bool is_dead(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)peer;
    return sent->is_dead;
}

static bool has_ended(const struct mg_peer *peer, const struct mg_sent *sent)
{
    return is_dead(peer, sent) || mg_run_has_reply(peer, sent);
}

static bool is_gone(const struct mg_peer *peer, const struct mg_sent *sent)
{
    return sent->taken != NULL || has_ended(peer, sent);
}

struct silent {
    struct mg_sent *late, *foreign, *newer, *unreadable[UNREADABLE_MAX];
    bool is_late;
};

static struct mg_sent *changed(struct mg_run *run, const char *name, const char *pointer, const char *value)
{
    struct mg_sent *sent = mg_run_make(run, MG_KIND_VERIFY, MG_RUN_ORDER_FIRST);
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

static void silent_send(struct mg_run *run, struct silent *ret)
{
    static char huge[HUGE_BYTES]; /* deep as well: a reader without a bound recurses */
    const struct mg_peer_plan plan = {
        .kind = MG_KIND_DO, .order = MG_RUN_ORDER_LATE, .within_ms = LATE_WITHIN_MS};
    memset(huge, '[', sizeof(huge));
    ret->foreign = changed(run, "foreign", "/service", "\"another-service\"");
    ret->newer = changed(run, "newer", "/v", "99");
    ret->unreadable[0] = mg_peer_make_raw(run->peer, "text", mg_slice_of("not JSON"));
    ret->unreadable[1] = mg_peer_make_raw(run->peer, "members", mg_slice_of("{\"v\":1,\"kind\":\"do\"}"));
    ret->unreadable[2] = mg_peer_make_raw(run->peer, "huge", (struct mg_slice){huge, sizeof(huge)});
    ret->late = mg_peer_make(run->peer, &plan);
    ret->is_late = mg_run_ask_again(run, ret->late, LATE_WITHIN_MS + LATE_MARGIN_MS);
    mg_run_publish(run, ret->foreign);
    for (int i = 0; i < UNREADABLE_MAX; i++) {
        mg_run_publish(run, ret->unreadable[i]);
    }
    mg_run_publish(run, ret->newer);
}

/* A message that should be set aside: neither answered nor lost. */
static bool dead_check(struct mg_run *run, enum mg_rule rule, const struct mg_sent *sent, const char *what)
{
    char answer[MG_RUN_ANSWER_SIZE];
    bool is_settled = sent != NULL && mg_peer_wait(run->peer, has_ended, sent, GONE_MS);
    bool is_kept = is_settled && sent->replies == 0;
    if (is_kept) {
        mg_run_judge(run, rule, MG_KEEPING_KEPT, "%s came to dead.letters", what);
    } else if (is_settled) {
        mg_run_judge(run, rule, MG_KEEPING_BROKEN, "%s was answered %s", what,
                     mg_run_answer(&sent->first, answer));
    } else {
        mg_run_judge(
            run, rule, MG_KEEPING_BROKEN,
            "%s did not come to dead.letters within %d s: it is lost, or is redelivered again and again",
            what, GONE_MS / 1000);
    }
    return is_kept;
}

static void unreadable_check(struct mg_run *run, const struct silent *silent)
{
    static const char *const whats[UNREADABLE_MAX] = {"a message that is not JSON",
                                                      "a request without its members", "a message of 1 MiB"};
    bool is_kept = true;
    for (int i = 0; i < UNREADABLE_MAX && is_kept; i++) {
        is_kept = dead_check(run, MG_RULE_UNREADABLE, silent->unreadable[i], whats[i]);
    }
    if (is_kept) {
        mg_run_judge(run, MG_RULE_UNREADABLE, MG_KEEPING_KEPT,
                     "three messages that are no requests came to dead.letters");
    }
}

/* It is returned to the queue again and again, where this side can take it. */
static void newer_check(struct mg_run *run, struct mg_sent *sent)
{
    char answer[MG_RUN_ANSWER_SIZE];
    if (sent == NULL || !mg_peer_take_begin(run->peer)) {
        return;
    }
    bool is_kept = mg_peer_wait(run->peer, is_gone, sent, GONE_MS);
    if (sent->replies > 0) {
        mg_run_judge(run, MG_RULE_NEWER, MG_KEEPING_BROKEN, "a request of version 99 was answered %s",
                     mg_run_answer(&sent->first, answer));
    } else {
        mg_run_judge(
            run, MG_RULE_NEWER, is_kept ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN, "a request of version 99 %s",
            is_kept ? "was left for another agent" : "is lost: neither returned nor in dead.letters");
    }
    mg_peer_drop(run->peer, sent);
    mg_peer_take_end(run->peer, sent);
}

static void late_check(struct mg_run *run, const struct silent *silent)
{
    char answer[MG_RUN_ANSWER_SIZE];
    if (!silent->is_late) {
        mg_run_judge(run, MG_RULE_LATE, MG_KEEPING_NOT_SHOWN,
                     "the broker gave the request to the agent at once");
    } else if (silent->late->replies > 0) {
        mg_run_judge(run, MG_RULE_LATE, MG_KEEPING_BROKEN,
                     "a request whose complete_by had passed was answered %s; nothing is due",
                     mg_run_answer(&silent->late->first, answer));
    } else if (mg_run_is_served(run, MG_RULE_LATE)) {
        mg_run_judge(run, MG_RULE_LATE, MG_KEEPING_KEPT,
                     "nothing came to a request whose complete_by had passed");
    }
}

void mg_run_unanswered(struct mg_run *run)
{
    struct silent silent = {0};
    if (!mg_run_is_served(run, MG_RULE_FOREIGN)) {
        for (enum mg_rule rule = MG_RULE_LATE; rule <= MG_RULE_NEWER; rule++) {
            (void)mg_run_is_served(run, rule); /* not shown */
        }
        return;
    }
    silent_send(run, &silent);
    int64_t until_boot_ms = mg_clock_boot_ms() + SILENCE_MS;
    (void)dead_check(run, MG_RULE_FOREIGN, silent.foreign, "a request for another service");
    unreadable_check(run, &silent);
    if (mg_run_is_served(run, MG_RULE_NEWER)) {
        newer_check(run, silent.newer);
    }
    mg_peer_rest(run->peer, until_boot_ms - mg_clock_boot_ms());
    late_check(run, &silent);
}
