/*
 * The verdicts of an audit, by its answers alone. A promise is broken only by an answer that a step would
 * take for another effect than the service has; an answer that proves nothing leaves it not shown.
 */
#include <stdarg.h>
#include <stdio.h>

#include "audit.h"
#include "json/differ.h"

/* A value in a difference; a person reads it alongside others. */
#define VALUE_MAX_BYTES 60

const char *mg_audit_call_name(enum mg_audit_call call)
{
    static const char *const names[MG_AUDIT_CALL_COUNT] = {
        [MG_AUDIT_VERIFY_UNKNOWN] = "verify_unknown",
        [MG_AUDIT_DO] = "do",
        [MG_AUDIT_DO_AGAIN] = "do_again",
        [MG_AUDIT_VERIFY] = "verify",
        [MG_AUDIT_UNDO] = "undo",
        [MG_AUDIT_VERIFY_UNDONE] = "verify_undone",
        [MG_AUDIT_DO_LATE] = "do_late",
        [MG_AUDIT_VERIFY_LATE] = "verify_late",
        [MG_AUDIT_UNDO_AGAIN] = "undo_again",
        [MG_AUDIT_UNDO_FIRST] = "undo_first",
        [MG_AUDIT_DO_BEHIND] = "do_behind",
        [MG_AUDIT_VERIFY_BEHIND] = "verify_behind",
        [MG_AUDIT_UNDO_BEHIND] = "undo_behind",
    };
    return names[call];
}

const char *mg_promise_name(enum mg_promise promise)
{
    static const char *const names[MG_PROMISE_COUNT] = {
        [MG_PROMISE_DO] = "do",
        [MG_PROMISE_REPLAY] = "replay",
        [MG_PROMISE_VERIFY] = "verify",
        [MG_PROMISE_ABSENT] = "absent",
        [MG_PROMISE_UNDO] = "undo",
        [MG_PROMISE_UNDO_AGAIN] = "undo_again",
        [MG_PROMISE_STAYS_UNDONE] = "stays_undone",
        [MG_PROMISE_UNDO_FIRST] = "undo_first",
        [MG_PROMISE_TOMBSTONE] = "tombstone",
        [MG_PROMISE_ANSWERS] = "answers",
        [MG_PROMISE_TIME] = "time",
    };
    return names[promise];
}

const char *mg_keeping_name(enum mg_keeping keeping)
{
    static const char *const names[] = {
        [MG_KEEPING_KEPT] = "kept", [MG_KEEPING_BROKEN] = "broken", [MG_KEEPING_NOT_SHOWN] = "not_shown"};
    return names[keeping];
}

/* ---- answers ---- */

/* "answered 404, which counts as absent", with the service's code. */
#define ANSWER_SIZE 384

static const char *answer_write(const struct mg_audit_seen *seen, char ret[ANSWER_SIZE])
{
    const struct mg_reply *reply = &seen->reply;
    if (seen->status == 0) {
        snprintf(ret, ANSWER_SIZE, "%s: %s", reply->error_code, reply->error_text);
        return ret;
    }
    bool has_code = reply->error_code[0] != '\0' && reply->outcome != MG_OUTCOME_ABSENT;
    snprintf(ret, ANSWER_SIZE, "answered %d, which counts as %s%s%s%s", seen->status,
             mg_outcome_name(reply->outcome), has_code ? " (" : "", has_code ? reply->error_code : "",
             has_code ? ")" : "");
    return ret;
}

static bool is_made(const struct mg_audit *audit, enum mg_audit_call call)
{
    return audit->seen[call].is_made;
}

static bool is_done(const struct mg_audit *audit, enum mg_audit_call call)
{
    return is_made(audit, call) && audit->seen[call].reply.outcome == MG_OUTCOME_DONE;
}

/* A verify: nothing stands under the key. */
static bool is_gone(const struct mg_audit *audit, enum mg_audit_call call)
{
    const struct mg_reply *reply = &audit->seen[call].reply;
    return is_made(audit, call) && (reply->outcome == MG_OUTCOME_ABSENT || reply->is_refused_by_body);
}

/* An undo: nothing stands any more. */
static bool is_undone(const struct mg_audit *audit, enum mg_audit_call call)
{
    return is_done(audit, call) || is_gone(audit, call);
}

/* ---- findings ---- */

static void MG_PRINTF(4, 5)
    find(struct mg_audit *audit, enum mg_promise promise, enum mg_keeping keeping, const char *format, ...)
{
    struct mg_finding *finding = &audit->findings[promise];
    va_list args;
    va_start(args, format);
    finding->keeping = keeping;
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    mg_utf8_mend(finding->text);
}

/* The call was not made: the promise is not shown. */
static bool is_open(struct mg_audit *audit, enum mg_promise promise, enum mg_audit_call call)
{
    if (!is_made(audit, call)) {
        find(audit, promise, MG_KEEPING_NOT_SHOWN, "%s", audit->seen[call].why);
    }
    return !is_made(audit, call);
}

/* Kept if `is_good`, otherwise broken, each with the answer. */
static void find_by_answer(struct mg_audit *audit, enum mg_promise promise, enum mg_audit_call call,
                           bool is_good, const char *advice)
{
    char answer[ANSWER_SIZE];
    find(audit, promise, is_good ? MG_KEEPING_KEPT : MG_KEEPING_BROKEN, "%s %s%s%s", mg_audit_call_name(call),
         answer_write(&audit->seen[call], answer), is_good ? "" : "; ", is_good ? "" : advice);
}

static void judge_do(struct mg_audit *audit)
{
    const struct mg_audit_seen *seen = &audit->seen[MG_AUDIT_DO];
    if (is_open(audit, MG_PROMISE_DO, MG_AUDIT_DO)) {
        return;
    }
    if (seen->reply.outcome == MG_OUTCOME_ACCEPTED) {
        find(audit, MG_PROMISE_DO, MG_KEEPING_NOT_SHOWN,
             "the work was accepted and not done after %lld ms and %d polls; give a longer --timeout",
             (long long)audit->options.timeout_ms, seen->polls);
        return;
    }
    find_by_answer(audit, MG_PROMISE_DO, MG_AUDIT_DO, seen->reply.outcome == MG_OUTCOME_DONE,
                   "give a payload that it takes with --payload");
}

struct difference {
    char pointer[128];
    struct mg_slice first, second;
    int count;
};

static void on_difference(void *arg, const char *pointer, struct mg_slice expected, struct mg_slice actual)
{
    struct difference *difference = arg;
    if (difference->count++ == 0) {
        snprintf(difference->pointer, sizeof(difference->pointer), "%s", pointer);
        difference->first = expected;
        difference->second = actual;
    }
}

static const char *value_write(struct mg_slice value, char ret[VALUE_MAX_BYTES + 8])
{
    size_t len = mg_utf8_cut(value, VALUE_MAX_BYTES);
    snprintf(ret, VALUE_MAX_BYTES + 8, "%.*s%s", value.data != NULL ? (int)len : 7,
             value.data != NULL ? value.data : "nothing", len < value.len ? "…" : "");
    return ret;
}

static void difference_find(struct mg_audit *audit, enum mg_promise promise, const struct difference *seen)
{
    char first[VALUE_MAX_BYTES + 8], second[VALUE_MAX_BYTES + 8];
    find(audit, promise, MG_KEEPING_BROKEN,
         "the same key got another answer: %s%s is %s, then %s; answer a key always as at first",
         seen->pointer[0] != '\0' ? "" : "the answer", seen->pointer, value_write(seen->first, first),
         value_write(seen->second, second));
}

/* Compares two answers. `shown` stands in the text; it holds no secret. */
static int differences(const struct mg_audit *audit, enum mg_audit_call call, struct difference *ret)
{
    const struct mg_audit_seen *first = &audit->seen[MG_AUDIT_DO], *second = &audit->seen[call];
    *ret = (struct difference){.count = 0};
    if (mg_slice_equal(first->reply.result, second->reply.result)) {
        return 0;
    }
    if (first->reply.result.data == NULL || second->reply.result.data == NULL) {
        on_difference(ret, "", first->shown, second->shown);
        return 1;
    }
    int count =
        mg_json_differ(first->reply.result, second->reply.result, "", MG_DIFFER_WHOLE, on_difference, ret);
    ret->first = mg_json_find(first->shown, ret->pointer);
    ret->second = mg_json_find(second->shown, ret->pointer);
    return count;
}

static void judge_replay(struct mg_audit *audit)
{
    const struct mg_audit_seen *again = &audit->seen[MG_AUDIT_DO_AGAIN];
    struct difference seen;
    if (is_open(audit, MG_PROMISE_REPLAY, MG_AUDIT_DO_AGAIN)) {
        return;
    }
    if (again->reply.outcome == MG_OUTCOME_ACCEPTED) {
        find(audit, MG_PROMISE_REPLAY, MG_KEEPING_NOT_SHOWN,
             "do_again was accepted and not done in time; give a longer --timeout");
    } else if (!is_done(audit, MG_AUDIT_DO_AGAIN)) {
        find_by_answer(audit, MG_PROMISE_REPLAY, MG_AUDIT_DO_AGAIN, false,
                       again->status == 409
                           ? "if that means a key that was done, the service file says so: \"answers\": "
                             "{\"409\": \"done\"}"
                           : "answer a key that was done as at first");
    } else if (differences(audit, MG_AUDIT_DO_AGAIN, &seen) > 0) {
        difference_find(audit, MG_PROMISE_REPLAY, &seen);
    } else if (again->reply.result.data == NULL) {
        find(audit, MG_PROMISE_REPLAY, MG_KEEPING_NOT_SHOWN,
             "the answers have no result, so a second effect would not be seen; answer with an id");
    } else {
        find_by_answer(audit, MG_PROMISE_REPLAY, MG_AUDIT_DO_AGAIN, true, "");
    }
}

static void judge_verify(struct mg_audit *audit)
{
    if (!is_open(audit, MG_PROMISE_VERIFY, MG_AUDIT_VERIFY)) {
        find_by_answer(audit, MG_PROMISE_VERIFY, MG_AUDIT_VERIFY, is_done(audit, MG_AUDIT_VERIFY),
                       "a key that was done is to be found");
    }
    if (!is_open(audit, MG_PROMISE_ABSENT, MG_AUDIT_VERIFY_UNKNOWN)) {
        find_by_answer(
            audit, MG_PROMISE_ABSENT, MG_AUDIT_VERIFY_UNKNOWN, is_gone(audit, MG_AUDIT_VERIFY_UNKNOWN),
            "a key that never came is to be absent: 404, or as \"answers\" in the service file has "
            "it");
    }
}

static void judge_undo(struct mg_audit *audit)
{
    char answer[ANSWER_SIZE];
    if (is_open(audit, MG_PROMISE_UNDO, MG_AUDIT_UNDO)) {
        return;
    }
    if (!is_done(audit, MG_AUDIT_DO)) {
        find(audit, MG_PROMISE_UNDO, MG_KEEPING_NOT_SHOWN, "the do was not done");
    } else if (is_done(audit, MG_AUDIT_UNDO) && is_made(audit, MG_AUDIT_VERIFY_UNDONE) &&
               !is_gone(audit, MG_AUDIT_VERIFY_UNDONE)) {
        find(audit, MG_PROMISE_UNDO, MG_KEEPING_BROKEN,
             "undo was done, and verify %s; an undone key is to be absent",
             answer_write(&audit->seen[MG_AUDIT_VERIFY_UNDONE], answer));
    } else {
        find_by_answer(audit, MG_PROMISE_UNDO, MG_AUDIT_UNDO, is_done(audit, MG_AUDIT_UNDO),
                       "a key that was done is to be undone");
    }
}

static void judge_undo_again(struct mg_audit *audit)
{
    if (is_open(audit, MG_PROMISE_UNDO_AGAIN, MG_AUDIT_UNDO_AGAIN)) {
        return;
    }
    if (is_done(audit, MG_AUDIT_VERIFY_LATE)) {
        find(audit, MG_PROMISE_UNDO_AGAIN, MG_KEEPING_NOT_SHOWN,
             "do_late acted again, and undo_again was the first undo of that");
    } else {
        find_by_answer(audit, MG_PROMISE_UNDO_AGAIN, MG_AUDIT_UNDO_AGAIN,
                       is_undone(audit, MG_AUDIT_UNDO_AGAIN),
                       "a repeated undo is to be done, or absent: an undo is sent until it is");
    }
}

/* A do that comes after the undo of its key. The verify after it decides if there is one: some services
 * repeat their first answer and do not act. */
static void judge_late(struct mg_audit *audit, enum mg_promise promise, enum mg_audit_call late,
                       enum mg_audit_call verify)
{
    char answer[ANSWER_SIZE];
    const struct mg_reply *reply = &audit->seen[late].reply;
    struct difference seen;
    if (is_open(audit, promise, late)) {
        return;
    }
    answer_write(&audit->seen[late], answer);
    bool is_refused = reply->outcome == MG_OUTCOME_PERMANENT || reply->outcome == MG_OUTCOME_ABSENT;
    if (is_gone(audit, verify)) {
        find(audit, promise, MG_KEEPING_KEPT, "%s %s, and verify finds nothing", mg_audit_call_name(late),
             answer);
    } else if (is_done(audit, verify)) {
        find(audit, promise, MG_KEEPING_BROKEN,
             "%s %s, and verify finds its effect; keep a mark of an undone key and refuse a do with it",
             mg_audit_call_name(late), answer);
    } else if (is_refused) {
        find(audit, promise, MG_KEEPING_KEPT, "%s %s", mg_audit_call_name(late), answer);
    } else if (reply->outcome != MG_OUTCOME_DONE) {
        find(audit, promise, MG_KEEPING_NOT_SHOWN,
             "%s %s, which leaves open whether it acted; refuse it for good, with 422 for example",
             mg_audit_call_name(late), answer);
    } else if (promise == MG_PROMISE_STAYS_UNDONE && reply->result.data != NULL &&
               differences(audit, late, &seen) == 0) {
        find(audit, promise, MG_KEEPING_NOT_SHOWN,
             "%s got the first answer; whether it acted is not seen without a verify",
             mg_audit_call_name(late));
    } else {
        find(audit, promise, MG_KEEPING_BROKEN, "%s %s; keep a mark of an undone key and refuse a do with it",
             mg_audit_call_name(late), answer);
    }
}

static void judge_undo_first(struct mg_audit *audit)
{
    if (!is_open(audit, MG_PROMISE_UNDO_FIRST, MG_AUDIT_UNDO_FIRST)) {
        find_by_answer(audit, MG_PROMISE_UNDO_FIRST, MG_AUDIT_UNDO_FIRST,
                       is_undone(audit, MG_AUDIT_UNDO_FIRST),
                       "an undo of a key that never came is to be done, or absent");
    }
}

/* An answer that was not whole, or that no rule and no condition gives a meaning. A time-out has a promise of
 * its own. */
static bool is_meaningless(const struct mg_audit_seen *seen)
{
    bool is_unclear = seen->reply.error_reason == MG_ERROR_REASON_ANSWER_UNCLEAR;
    bool is_broken = seen->reply.error_reason == MG_ERROR_REASON_BROKEN_ANSWER ||
                     strcmp(seen->reply.error_code, "page_answered") == 0;
    bool is_unreadable = mg_reply_result_fault(&seen->reply)[0] != '\0';
    bool is_unknown = seen->reply.outcome == MG_OUTCOME_UNKNOWN && !seen->is_timed_out;
    return seen->is_made && (is_unclear || is_broken || is_unknown || is_unreadable);
}

static void judge_answers(struct mg_audit *audit)
{
    int count = 0;
    for (enum mg_audit_call call = 0; call < MG_AUDIT_CALL_COUNT; call++) {
        const struct mg_audit_seen *seen = &audit->seen[call];
        count += seen->is_made ? 1 : 0;
        if (is_meaningless(seen)) {
            find(audit, MG_PROMISE_ANSWERS, MG_KEEPING_BROKEN, "%s, status %d: %s%s%s",
                 mg_audit_call_name(call), seen->status,
                 seen->reply.is_truncated ? "the result is too large (\"result\" in the service file)"
                                          : seen->reply.error_code,
                 seen->reply.error_text[0] != '\0' ? ": " : "", seen->reply.error_text);
            return;
        }
    }
    find(audit, MG_PROMISE_ANSWERS, MG_KEEPING_KEPT, "each of %d answers was whole and has a meaning", count);
}

static void judge_time(struct mg_audit *audit)
{
    const struct mg_audit_seen *slowest = &audit->seen[MG_AUDIT_DO];
    enum mg_audit_call of = MG_AUDIT_DO;
    for (enum mg_audit_call call = 0; call < MG_AUDIT_CALL_COUNT; call++) {
        const struct mg_audit_seen *seen = &audit->seen[call];
        if (seen->is_made && seen->is_timed_out) {
            find(audit, MG_PROMISE_TIME, MG_KEEPING_BROKEN, "%s got no answer within %lld ms",
                 mg_audit_call_name(call), (long long)seen->budget_ms);
            return;
        }
        if (seen->is_made && seen->took_ms > slowest->took_ms) {
            slowest = seen;
            of = call;
        }
    }
    find(audit, MG_PROMISE_TIME, MG_KEEPING_KEPT, "the slowest, %s, took %lld ms of %lld ms",
         mg_audit_call_name(of), (long long)slowest->took_ms, (long long)slowest->budget_ms);
}

void mg_audit_judge(struct mg_audit *audit)
{
    judge_do(audit);
    judge_replay(audit);
    judge_verify(audit);
    judge_undo(audit);
    judge_undo_again(audit);
    judge_late(audit, MG_PROMISE_STAYS_UNDONE, MG_AUDIT_DO_LATE, MG_AUDIT_VERIFY_LATE);
    judge_undo_first(audit);
    judge_late(audit, MG_PROMISE_TOMBSTONE, MG_AUDIT_DO_BEHIND, MG_AUDIT_VERIFY_BEHIND);
    judge_answers(audit);
    judge_time(audit);
}
