/* See played_service.h. */
#include "played_service.h"

#include <stdio.h>

#include "agent/classify.h"

/* ---- the meaning of an answer for an agent ---- */

static void answer_make(enum mg_call_end end, int call, struct mg_http_answer *ret)
{
    static const int STATUSES[MG_CALL_END_COUNT] = {
        [MG_CALL_END_DONE] = 200,   [MG_CALL_END_ACCEPTED] = 202, [MG_CALL_END_ABSENT] = 404,
        [MG_CALL_END_FAILED] = 503, [MG_CALL_END_REFUSED] = 422,
    };
    *ret = (struct mg_http_answer){.content_type = "", .retry_after_ms = -1, .sent = MG_SENT_YES};
    if (end == MG_CALL_END_UNREACHABLE) {
        ret->sent = MG_SENT_NO;
        snprintf(ret->reason, sizeof(ret->reason), "could not connect");
    } else if (end == MG_CALL_END_BROKEN || end == MG_CALL_END_TIMEOUT) {
        ret->sent = MG_SENT_MAYBE;
        ret->is_timed_out = end == MG_CALL_END_TIMEOUT;
        snprintf(ret->reason, sizeof(ret->reason),
                 ret->is_timed_out ? "no answer in time" : "the connection broke");
    } else {
        bool is_empty = end == MG_CALL_END_DONE && call == MG_KIND_UNDO;
        ret->status = is_empty ? 204 : STATUSES[end];
        ret->body = mg_slice_of(is_empty ? "" : "{}"); /* JSON: the service's own word, not a proxy's */
        ret->content_type = is_empty ? "" : "application/json";
    }
}

void mg_meanings_make(const struct mg_workflow *workflow, int step, const struct mg_service *service,
                      struct mg_meanings *ret)
{
    struct mg_http_answer answer;
    const struct mg_reading reading = {.is_page = false};
    for (int call = 0; call < MG_CALL_COUNT; call++) {
        bool asks_undone = call == MG_CALL_UNDO_VERIFY;
        enum mg_kind kind = asks_undone ? MG_KIND_VERIFY : (enum mg_kind)call;
        bool is_polled = mg_workflow_is_polled(workflow, step, kind, asks_undone);
        for (int end = 0; end < MG_CALL_END_COUNT; end++) {
            answer_make((enum mg_call_end)end, call, &answer);
            mg_classify_answer(service, kind, is_polled, &answer, &reading, MG_CONNECT_TIMEOUT_MS,
                               &ret->ends[call][end]);
        }
    }
}

/* ---- the service ---- */

bool mg_outages_have(const struct mg_outages *outages, int64_t at_ms)
{
    for (int i = 0; i < outages->count; i++) {
        if (at_ms >= outages->items[i].from_ms && at_ms < outages->items[i].until_ms) {
            return true;
        }
    }
    return false;
}

/* Work that is over by now. */
static void key_advance(struct mg_key_record *key, int64_t now_ms)
{
    if (key->until_ms <= now_ms) {
        key->state = key->state == MG_KEY_WORKING   ? MG_KEY_STANDS
                     : key->state == MG_KEY_UNDOING ? MG_KEY_UNDONE
                                                    : key->state;
    }
}

static enum mg_call_end key_do(struct mg_key_record *key, const struct mg_habit *habit, int64_t now_ms,
                               uint64_t *stream)
{
    if (!key->is_drawn) {
        key->is_drawn = true;
        key->refuses = mg_share_draw(habit->refuse, stream);
    }
    if (key->state == MG_KEY_UNKNOWN) {
        key->state = key->refuses ? MG_KEY_REFUSED : habit->has_finish ? MG_KEY_WORKING : MG_KEY_STANDS;
        key->until_ms =
            key->state == MG_KEY_WORKING ? now_ms + mg_spread_draw(&habit->finish, stream) : now_ms;
    }
    return key->state == MG_KEY_STANDS    ? MG_CALL_END_DONE
           : key->state == MG_KEY_WORKING ? MG_CALL_END_ACCEPTED
                                          : MG_CALL_END_REFUSED;
}

/* An undo of a key that it has never seen is done as well: no later do of that key may act. */
static enum mg_call_end key_undo(struct mg_key_record *key, const struct mg_habit *habit, int64_t now_ms,
                                 uint64_t *stream)
{
    if (!key->is_undo_drawn) {
        key->is_undo_drawn = true;
        key->refuses_undo = mg_share_draw(habit->refuse, stream);
    }
    if (key->refuses_undo) {
        return MG_CALL_END_REFUSED;
    }
    bool is_new = key->state != MG_KEY_UNDOING && key->state != MG_KEY_UNDONE;
    if (is_new) {
        key->state = habit->has_finish ? MG_KEY_UNDOING : MG_KEY_UNDONE;
        key->until_ms = habit->has_finish ? now_ms + mg_spread_draw(&habit->finish, stream) : now_ms;
    }
    return key->state == MG_KEY_UNDONE ? MG_CALL_END_DONE : MG_CALL_END_ACCEPTED;
}

static enum mg_call_end key_verify(const struct mg_key_record *key, bool asks_undone)
{
    bool is_done = key->state == (asks_undone ? MG_KEY_UNDONE : MG_KEY_STANDS);
    bool is_working = key->state == (asks_undone ? MG_KEY_UNDOING : MG_KEY_WORKING);
    return is_done ? MG_CALL_END_DONE : is_working ? MG_CALL_END_ACCEPTED : MG_CALL_END_ABSENT;
}

enum mg_call_end mg_key_handle(struct mg_key_record *key, const struct mg_habit *habit,
                               const struct mg_agent_call *call, bool is_late, int64_t now_ms,
                               uint64_t *stream)
{
    enum mg_call_end end;
    key_advance(key, now_ms);
    if (mg_share_draw(habit->fail, stream)) {
        return is_late ? MG_CALL_END_TIMEOUT : MG_CALL_END_FAILED;
    }
    if (call->kind == MG_KIND_DO) {
        end = key_do(key, habit, now_ms, stream);
    } else if (call->kind == MG_KIND_UNDO) {
        end = key_undo(key, habit, now_ms, stream);
    } else {
        end = key_verify(key, call->asks_undone);
    }
    bool is_lost = mg_share_draw(habit->lose, stream);
    return is_late ? MG_CALL_END_TIMEOUT : is_lost ? MG_CALL_END_BROKEN : end;
}
