/* See cases.h. The rules: a status line is due once, by rising seq, and only for the order's own statuses. */
#include "cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define SEQ(n) (UINT64_C(1) << (n))
#define OF(seq, status)                                                                                      \
    {                                                                                                        \
        MG_MESSAGE_STATUS, seq, MG_STATUS_##status                                                           \
    }
#define MORE(seq, status)                                                                                    \
    {                                                                                                        \
        MG_MESSAGE_MORE, seq, MG_STATUS_##status                                                             \
    }
#define AS(message, seq)                                                                                     \
    {                                                                                                        \
        MG_MESSAGE_##message, seq, MG_STATUS_CANCELLED                                                       \
    }

static const struct mg_case CASES[MG_CASE_COUNT] = {
    [MG_CASE_PLAIN] = {MG_CLIENT_STATUSES,
                       "accepted and processed",
                       {OF(1, ACCEPTED), OF(2, PROCESSED)},
                       SEQ(1) | SEQ(2),
                       true},
    [MG_CASE_PATIENCE] = {MG_CLIENT_PATIENCE,
                          "the first status came late",
                          {OF(1, ACCEPTED), OF(2, PROCESSED)},
                          SEQ(1) | SEQ(2),
                          true},
    [MG_CASE_REPEAT] = {MG_CLIENT_REPEAT,
                        "each status came twice",
                        {OF(1, ACCEPTED), OF(1, ACCEPTED), OF(2, COMPENSATING), OF(2, COMPENSATING),
                         OF(3, COMPENSATED), OF(3, COMPENSATED)},
                        SEQ(1) | SEQ(2) | SEQ(3),
                        true},
    [MG_CASE_ORDER] = {MG_CLIENT_ORDER,
                       "seq 2 came before seq 1",
                       {OF(2, COMPENSATING), OF(1, ACCEPTED), OF(3, ERROR)},
                       SEQ(2) | SEQ(3),
                       true},
    [MG_CASE_GAP] =
        {MG_CLIENT_GAP, "seq 2 never came", {OF(1, ACCEPTED), OF(3, CANCELLED)}, SEQ(1) | SEQ(3), true},
    [MG_CASE_FOREIGN] = {MG_CLIENT_FOREIGN,
                         "the status of another order came first",
                         {AS(FOREIGN, 1), OF(1, ACCEPTED), OF(2, PROCESSED)},
                         SEQ(1) | SEQ(2),
                         true},
    [MG_CASE_UNREADABLE] = {MG_CLIENT_UNREADABLE,
                            "messages that are no statuses came between",
                            {OF(1, ACCEPTED), AS(TEXT, 2), AS(WORDLESS, 2), AS(HUGE, 2), OF(2, PROCESSED)},
                            SEQ(1) | SEQ(2),
                            true},
    [MG_CASE_MEMBERS] = {MG_CLIENT_MEMBERS,
                         "the statuses had members of a later version",
                         {MORE(1, ACCEPTED), MORE(2, PROCESSED)},
                         SEQ(1) | SEQ(2),
                         true},
    [MG_CASE_WORD] = {MG_CLIENT_WORD,
                      "a status of a later version, step_completed and waiting came between",
                      {OF(1, ACCEPTED), AS(WORD, 2), OF(3, STEP_COMPLETED), OF(4, WAITING), OF(5, PROCESSED)},
                      SEQ(1) | SEQ(5),
                      true},
    [MG_CASE_REJECTED] = {MG_CLIENT_REJECTED, "the order was rejected", {OF(0, REJECTED)}, SEQ(0), true},
    [MG_CASE_REFUSED] = {MG_CLIENT_REFUSED, "", {OF(1, ACCEPTED), OF(2, PROCESSED)}, SEQ(2), false},
    [MG_CASE_RETURNED] = {MG_CLIENT_RETURNED, "", {OF(1, ACCEPTED), OF(2, PROCESSED)}, SEQ(2), false},
    [MG_CASE_CONFIRM_LOST] = {MG_CLIENT_CONFIRM_LOST, "", {OF(1, ACCEPTED), OF(2, PROCESSED)}, SEQ(2), false},
    [MG_CASE_CUT] = {MG_CLIENT_CUT, "", {OF(1, ACCEPTED), OF(2, PROCESSED)}, SEQ(2), false},
};

const struct mg_case *mg_case_of(enum mg_client_case which)
{
    return &CASES[which];
}

const char *mg_client_rule_name(enum mg_client_rule rule)
{
    static const char *const names[MG_CLIENT_RULE_COUNT] = {
        [MG_CLIENT_SUBMIT] = "submit",
        [MG_CLIENT_FORM] = "form",
        [MG_CLIENT_PERSISTENT] = "persistent",
        [MG_CLIENT_MANDATORY] = "mandatory",
        [MG_CLIENT_CONFIRMS] = "confirms",
        [MG_CLIENT_REPLY_TO] = "reply_to",
        [MG_CLIENT_STATUSES] = "statuses",
        [MG_CLIENT_PATIENCE] = "patience",
        [MG_CLIENT_REPEAT] = "repeat",
        [MG_CLIENT_ORDER] = "order",
        [MG_CLIENT_GAP] = "gap",
        [MG_CLIENT_FOREIGN] = "foreign",
        [MG_CLIENT_UNREADABLE] = "unreadable",
        [MG_CLIENT_MEMBERS] = "members",
        [MG_CLIENT_WORD] = "word",
        [MG_CLIENT_REJECTED] = "rejected",
        [MG_CLIENT_REFUSED] = "refused",
        [MG_CLIENT_RETURNED] = "returned",
        [MG_CLIENT_CONFIRM_LOST] = "confirm_lost",
        [MG_CLIENT_CUT] = "cut",
        [MG_CLIENT_SAME_BYTES] = "same_bytes",
        [MG_CLIENT_NEW_ID] = "new_id",
        [MG_CLIENT_ENDS] = "ends",
    };
    return names[rule];
}

/* ---- lines ---- */

static size_t span_copy(const char *text, char *ret, size_t size)
{
    size_t len = strcspn(text, " \t\r");
    snprintf(ret, size, "%.*s", (int)(len < size ? len : size - 1), text);
    return len;
}

static bool is_status(const char *word)
{
    for (enum mg_status status = 0; status < MG_STATUS_COUNT; status++) {
        if (strcmp(word, mg_status_name(status)) == 0) {
            return true;
        }
    }
    return strcmp(word, MG_CLIENT_LATER_WORD) == 0;
}

bool mg_client_line_parse(const char *text, struct mg_client_line *ret_line)
{
    struct mg_client_line line = {.seq = 0};
    size_t id_len = span_copy(text, line.order_id, sizeof(line.order_id));
    const char *at = text + id_len + strspn(text + id_len, " \t");
    size_t digits = strspn(at, "0123456789");
    if (id_len == 0 || id_len > MG_ORDER_ID_MAX || digits == 0 || digits > 9 ||
        (at[digits] != ' ' && at[digits] != '\t')) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        line.seq = line.seq * 10 + (uint64_t)(at[i] - '0');
    }
    at += digits + strspn(at + digits, " \t");
    (void)span_copy(at, line.status, sizeof(line.status));
    if (!is_status(line.status)) {
        return false;
    }
    *ret_line = line;
    return true;
}

/* The word that the case sent with this seq; NULL: none. A word of a later version is any. */
static const char *word_of(const struct mg_case *its, uint64_t seq, const char *printed)
{
    for (const struct mg_client_send *send = its->sends; send->message != MG_MESSAGE_NONE; send++) {
        if (send->seq == seq && (send->message == MG_MESSAGE_STATUS || send->message == MG_MESSAGE_MORE)) {
            return mg_status_name(send->status);
        }
        if (send->seq == seq && send->message == MG_MESSAGE_WORD) {
            return printed;
        }
    }
    return NULL;
}

static bool is_due(const struct mg_case *its, const struct mg_client_seen *seen, uint64_t seq)
{
    for (int i = 0; i < seen->line_count; i++) {
        const struct mg_client_line *line = &seen->lines[i];
        const char *word = word_of(its, seq, line->status);
        if (line->seq == seq && strcmp(line->order_id, seen->order_id) == 0 && word != NULL &&
            strcmp(line->status, word) == 0) {
            return false;
        }
    }
    return (its->due & SEQ(seq)) != 0;
}

/* The first seq without its line; -1: none. */
static int missing(enum mg_client_case which, const struct mg_client_seen *seen)
{
    for (int seq = 0; seq < 8; seq++) {
        if (is_due(&CASES[which], seen, (uint64_t)seq)) {
            return seq;
        }
    }
    return -1;
}

bool mg_case_is_complete(enum mg_client_case which, const struct mg_client_seen *seen)
{
    return missing(which, seen) < 0;
}

/* ---- verdicts ---- */

void mg_client_judge(struct mg_finding *finding, enum mg_keeping keeping, const char *format, ...)
{
    va_list args;
    finding->keeping = keeping;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    mg_utf8_mend(finding->text);
}

#define ENDING_SIZE (MG_CLIENT_SAID_SIZE + 96)

/* "it exited with 1, and its last line was: …" */
static const char *ending(const struct mg_client_seen *seen, int64_t timeout_ms, char ret[ENDING_SIZE])
{
    int len = 0;
    if (!seen->has_ended) {
        len = snprintf(ret, ENDING_SIZE, "it still ran after %d ms", (int)timeout_ms);
    } else if (seen->signal_number != 0) {
        len = snprintf(ret, ENDING_SIZE, "it ended by signal %d", seen->signal_number);
    } else {
        len = snprintf(ret, ENDING_SIZE, "it exited with %d", seen->exit_code);
    }
    if (seen->said[0] != '\0') {
        snprintf(ret + len, ENDING_SIZE - (size_t)len, "; its last other line: %s", seen->said);
    }
    return ret;
}

/* Judges the lines one by one. False: one is wrong, and the finding names it. */
static bool lines_judge(const struct mg_case *its, const struct mg_client_seen *seen,
                        struct mg_finding *finding)
{
    const struct mg_client_line *before = NULL;
    for (int i = 0; i < seen->line_count; before = &seen->lines[i++]) {
        const struct mg_client_line *line = &seen->lines[i];
        const char *word = word_of(its, line->seq, line->status);
        if (strcmp(line->order_id, seen->order_id) != 0) {
            mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it printed a line of order %s: %d %s",
                            its->what, line->order_id, (int)line->seq, line->status);
        } else if (word == NULL || strcmp(word, line->status) != 0) {
            mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it printed %d %s, which its order never was",
                            its->what, (int)line->seq, line->status);
        } else if (before != NULL && before->seq >= line->seq) {
            mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it printed %d %s after %d %s", its->what,
                            (int)line->seq, line->status, (int)before->seq, before->status);
        } else {
            continue;
        }
        return false;
    }
    return true;
}

static void strict_judge(enum mg_client_case which, const struct mg_client_seen *seen, int64_t timeout_ms,
                         struct mg_finding *finding)
{
    const struct mg_case *its = &CASES[which];
    char end[ENDING_SIZE];
    int seq = missing(which, seen);
    if (seen->posts == 0) {
        mg_client_judge(finding, MG_KEEPING_NOT_SHOWN, "no order came in this run: %s",
                        ending(seen, timeout_ms, end));
    } else if (seen->has_other_order) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it posted a second order", its->what);
    } else if (lines_judge(its, seen, finding) && seq >= 0) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it did not print %d %s: %s", its->what, seq,
                        word_of(its, (uint64_t)seq, ""), ending(seen, timeout_ms, end));
    } else if (seq < 0 && which == MG_CASE_REJECTED && !seen->has_ended) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and %s", its->what,
                        ending(seen, MG_CLIENT_END_MS, end));
    } else if (seq < 0 && finding->keeping != MG_KEEPING_BROKEN) {
        mg_client_judge(finding, MG_KEEPING_KEPT, "%s, and it printed what was due", its->what);
    }
}

/* A post that no queue has: refused, or returned. */
static void untaken_judge(enum mg_client_case which, const struct mg_client_seen *seen, int64_t timeout_ms,
                          struct mg_finding *finding)
{
    const char *what = which == MG_CASE_REFUSED ? "the broker refused its post (nack)"
                                                : "its post came back, since no queue took it (basic.return)";
    char end[ENDING_SIZE];
    if (seen->posts > 0 && missing(which, seen) < 0) {
        mg_client_judge(finding, MG_KEEPING_KEPT, "%s, and it posted again", what);
    } else if (seen->posts == 0 && seen->line_count == 0 && seen->has_ended &&
               (seen->exit_code != 0 || seen->signal_number != 0)) {
        mg_client_judge(finding, MG_KEEPING_KEPT, "%s, and it failed: %s", what,
                        ending(seen, timeout_ms, end));
    } else if (seen->posts > 0) {
        mg_client_judge(finding, MG_KEEPING_BROKEN,
                        "%s, it posted again, and did not print 2 processed of that order: %s", what,
                        ending(seen, timeout_ms, end));
    } else {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "%s; a failure, or another post, was due: %s", what,
                        ending(seen, timeout_ms, end));
    }
}

/* A connection that is lost: before the confirm, or between the statuses. */
static void lost_judge(enum mg_client_case which, const struct mg_client_seen *seen, int64_t timeout_ms,
                       struct mg_finding *finding)
{
    bool is_confirm = which == MG_CASE_CONFIRM_LOST;
    const char *what = is_confirm ? "the connection was cut before the broker's confirm"
                                  : "the connection was cut between two statuses";
    char end[ENDING_SIZE];
    if (seen->posts == 0) {
        mg_client_judge(finding, MG_KEEPING_NOT_SHOWN, "no order came in this run: %s",
                        ending(seen, timeout_ms, end));
    } else if (seen->has_other_order) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it posted with another id: these are two orders",
                        what);
    } else if (missing(which, seen) < 0) {
        mg_client_judge(finding, MG_KEEPING_KEPT, "%s, and it %s", what,
                        seen->posts > 1 ? "posted the order again, under its id" : "read on from its queue");
    } else if (seen->posts == 1) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "%s, and it did not post the order again: %s", what,
                        ending(seen, timeout_ms, end));
    } else {
        mg_client_judge(finding, MG_KEEPING_BROKEN,
                        "%s, it posted the order again, and did not print 2 processed: %s", what,
                        ending(seen, timeout_ms, end));
    }
}

void mg_case_judge(enum mg_client_case which, const struct mg_client_seen *seen, int64_t timeout_ms,
                   struct mg_finding *ret_finding)
{
    ret_finding->keeping = MG_KEEPING_NOT_SHOWN;
    if (CASES[which].is_strict) {
        strict_judge(which, seen, timeout_ms, ret_finding);
    } else if (which == MG_CASE_REFUSED || which == MG_CASE_RETURNED) {
        untaken_judge(which, seen, timeout_ms, ret_finding);
    } else {
        lost_judge(which, seen, timeout_ms, ret_finding);
    }
}

static void same_bytes_judge(const struct mg_client_seen *seen, struct mg_finding *finding)
{
    int again = 0;
    for (int i = 0; i < MG_CASE_COUNT; i++) {
        bool is_again = seen[i].posts > 1 && !seen[i].has_other_order;
        again += is_again ? 1 : 0;
        if (is_again && seen[i].has_other_bytes) {
            mg_client_judge(
                finding, MG_KEEPING_BROKEN,
                "it posted an order again with other bytes: schedulers reject that as a conflict");
            return;
        }
    }
    mg_client_judge(finding, again > 0 ? MG_KEEPING_KEPT : MG_KEEPING_NOT_SHOWN, "%s",
                    again > 0 ? "an order that was posted again had the same bytes"
                              : "no order was posted again under its id");
}

static void new_id_judge(const struct mg_client_seen *seen, struct mg_finding *finding)
{
    int orders = 0;
    for (int i = 0; i < MG_CASE_COUNT; i++) {
        orders += seen[i].posts > 0 ? 1 : 0;
        for (int j = 0; j < i && seen[i].posts > 0; j++) {
            if (seen[j].posts > 0 && strcmp(seen[i].order_id, seen[j].order_id) == 0) {
                mg_client_judge(finding, MG_KEEPING_BROKEN,
                                "two runs posted orders with the id %s: the second one is no new order",
                                seen[i].order_id);
                return;
            }
        }
    }
    mg_client_judge(finding, orders > 1 ? MG_KEEPING_KEPT : MG_KEEPING_NOT_SHOWN, "%d orders had %s", orders,
                    orders > 1 ? "ids of their own" : "an id");
}

/* A run is judged here if its lines are complete: only then the order has ended for the client. A rejection
 * has a rule of its own. */
static void ends_judge(const struct mg_client_seen *seen, struct mg_finding *finding)
{
    char end[ENDING_SIZE];
    int runs = 0;
    for (int i = 0; i < MG_CASE_COUNT; i++) {
        bool is_judged =
            i != MG_CASE_REJECTED && seen[i].posts > 0 && missing((enum mg_client_case)i, &seen[i]) < 0;
        bool is_processed =
            is_judged && strcmp(seen[i].lines[seen[i].line_count - 1].status, "processed") == 0;
        bool is_good = !is_processed || (seen[i].exit_code == 0 && seen[i].signal_number == 0);
        runs += is_judged ? 1 : 0;
        if (is_judged && (!seen[i].has_ended || !is_good)) {
            mg_client_judge(finding, MG_KEEPING_BROKEN,
                            "in the run for \"%s\", after its order had ended as %s: %s",
                            mg_client_rule_name(CASES[i].rule), seen[i].lines[seen[i].line_count - 1].status,
                            ending(&seen[i], MG_CLIENT_END_MS, end));
            return;
        }
    }
    mg_client_judge(finding, runs > 0 ? MG_KEEPING_KEPT : MG_KEEPING_NOT_SHOWN,
                    "it ended after its order in %d runs", runs);
}

void mg_cases_judge(const struct mg_client_seen seen[MG_CASE_COUNT], struct mg_finding *findings)
{
    same_bytes_judge(seen, &findings[MG_CLIENT_SAME_BYTES]);
    new_id_judge(seen, &findings[MG_CLIENT_NEW_ID]);
    ends_judge(seen, &findings[MG_CLIENT_ENDS]);
}

void mg_posted_judge(const struct mg_posted *posted, bool is_confirming, struct mg_finding *findings)
{
    bool is_json = strcmp(posted->content_type, "application/json") == 0;
    mg_client_judge(&findings[MG_CLIENT_FORM], is_json ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN,
                    "the post has %s%s; application/json is due",
                    posted->content_type[0] != '\0' ? "the content type " : "no content type",
                    posted->content_type);
    bool is_kept = posted->is_persistent && !posted->has_expiration;
    mg_client_judge(&findings[MG_CLIENT_PERSISTENT], is_kept ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN,
                    "the post %s",
                    !posted->is_persistent ? "is transient; delivery mode 2 is due"
                    : is_kept              ? "has delivery mode 2"
                                           : "has an expiration: the broker may drop the order");
    mg_client_judge(&findings[MG_CLIENT_MANDATORY],
                    posted->is_mandatory ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN, "the post is %s",
                    posted->is_mandatory ? "mandatory"
                                         : "not mandatory: the broker confirms a post that no queue takes");
    mg_client_judge(&findings[MG_CLIENT_CONFIRMS], is_confirming ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN, "%s",
                    is_confirming ? "the channel of the post has publisher confirms"
                                  : "the channel of the post has no publisher confirms: the post may be lost "
                                    "without a word");
}
