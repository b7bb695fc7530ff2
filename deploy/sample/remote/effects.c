/*
 * A service's handling of a request: it notes the request in the ledger and misbehaves as configured. A
 * repeated key gets the same answer as the first time.
 *
 * An undo without an earlier do writes a tombstone: a do that arrives later is refused for good. Otherwise a
 * delayed do could take effect after the compensation of its order, and would never be undone.
 */
#include "exchange.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_SIZE (KEY_MAX_LEN * 6 + 192) /* a key, every character escaped, and the rest of the answer */

static enum MHD_Result answer_ledger_failed(const struct exchange *exchange)
{
    return answer_error(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, "ledger",
                        "the ledger could not be written");
}

/* The same bytes for the same entry in the same state, however often they are asked for. */
static void describe(const struct entry *entry, const char *service, const char *key, const char *state,
                     char text[ANSWER_SIZE])
{
    char id[64];
    (void)snprintf(id, sizeof(id), "%s-%lld", service, (long long)entry->id);
    json_t *object = json_pack("{s:s, s:s, s:s}", "id", id, "key", key, "state", state);
    if (strcmp(service, "carrier") == 0) {
        char tracking[32];
        (void)snprintf(tracking, sizeof(tracking), "MG%09lld", (long long)entry->id);
        (void)json_object_set_new(object, "tracking", json_string(tracking));
    }
    char *dumped = json_dumps(object, JSON_COMPACT);
    (void)snprintf(text, ANSWER_SIZE, "%s", dumped ? dumped : "{}");
    free(dumped);
    json_decref(object);
}

/* The switch takes precedence; if it does not touch this kind, the order's body applies. */
static bool choose_behaviour(const struct exchange *exchange, const char *service, int kind,
                             const struct entry *entry, struct behaviour *ret_behaviour)
{
    struct behaviour behaviour;
    if (!ledger_switch_take(exchange->remote->ledger, service, kind, &behaviour)) {
        return false;
    }
    if (behaviour.mode == MODE_ORDER) {
        behaviour.mode = MODE_NORMAL;
        if (entry->body) { /* an unreadable behaviour was refused when the do came */
            (void)behaviour_of_body(entry->body, entry->body_len, service, kind, &behaviour);
        }
    }
    int64_t requests = kind == ON_UNDO ? entry->undo_requests : entry->do_requests;
    if (behaviour.count >= 0 && kind != ON_GET && requests > behaviour.count) {
        behaviour.mode = MODE_NORMAL;
    }
    *ret_behaviour = behaviour;
    return true;
}

/* Outages, which are answered before the service looks at the request. True: it has been answered. */
static bool is_out(const struct exchange *exchange, enum mode mode, enum MHD_Result *ret_result)
{
    if (mode == MODE_UNAVAILABLE) {
        *ret_result = answer_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
                                   "the service is down for now");
    } else if (mode == MODE_TOO_MANY) {
        *ret_result = answer_json(exchange, MHD_HTTP_TOO_MANY_REQUESTS, "{\"error\":{\"code\":\"too_many\"}}",
                                  "Retry-After", "1");
    } else if (mode == MODE_REDIRECT) {
        *ret_result = answer_json(exchange, MHD_HTTP_FOUND, "{\"error\":{\"code\":\"moved\"}}", "Location",
                                  "/elsewhere");
    } else if (mode == MODE_PAGE || mode == MODE_UNDO_PAGE) {
        *ret_result = answer_page(exchange);
    } else if (mode == MODE_SILENT) {
        (void)wait_for_client_ms(exchange, BEHAVIOUR_MS_MAX); /* however it ends, there is no answer */
        *ret_result = answer_nothing();
    } else {
        return false;
    }
    return true;
}

/* Ways to spoil an answer that would have been good. True: it has been answered. */
static bool is_spoilt(const struct exchange *exchange, const struct behaviour *behaviour, const char *text,
                      enum MHD_Result *ret_result)
{
    *ret_result = answer_nothing();
    if (behaviour->mode == MODE_GARBAGE) {
        *ret_result = answer_garbage(exchange);
    } else if (behaviour->mode == MODE_HUGE) {
        *ret_result = answer_huge(exchange);
    } else if (behaviour->mode == MODE_TRUNCATE) {
        *ret_result = answer_half(exchange, text);
    } else if (behaviour->mode == MODE_SLOW) {
        return !wait_for_client_ms(exchange, behaviour->ms); /* false: the client is gone */
    } else {
        return behaviour->mode == MODE_DROP;
    }
    return true;
}

static enum MHD_Result answer_cancelled(const struct exchange *exchange, const struct entry *entry)
{
    if (entry->state == STATE_CANCELLED) {
        return answer_error(exchange, STATUS_REFUSED, "cancelled", "cancelled before it began");
    }
    return answer_error(exchange, STATUS_REFUSED, "undone", "was done and undone under this key");
}

static enum MHD_Result do_noted(const struct exchange *exchange, const char *service, const char *key,
                                const struct entry *noted)
{
    struct behaviour behaviour;
    enum MHD_Result result;
    if (!choose_behaviour(exchange, service, ON_DO, noted, &behaviour)) {
        return answer_ledger_failed(exchange);
    }
    if (is_out(exchange, behaviour.mode, &result)) {
        return result;
    }
    if (noted->is_other_body) {
        return answer_error(exchange, STATUS_REFUSED, "key_reused", "this key came first with another body");
    }
    if (noted->state == STATE_UNDONE || noted->state == STATE_CANCELLED) {
        return answer_cancelled(exchange, noted);
    }
    if (behaviour.mode == MODE_DECLINE && noted->state == STATE_NONE) {
        bool is_card = strcmp(service, "payment") == 0;
        return answer_error(exchange, STATUS_REFUSED, is_card ? "card_declined" : "declined",
                            is_card ? "the card was declined" : "declined, and will be again");
    }
    if (behaviour.mode == MODE_LATE && !wait_ms(exchange, behaviour.ms)) {
        return answer_nothing();
    }

    bool is_executed = false;
    struct entry entry;
    char text[ANSWER_SIZE];
    if (!ledger_execute(exchange->remote->ledger, service, key,
                        behaviour.mode == MODE_ACCEPT ? behaviour.ms : 0, behaviour.mode == MODE_FORGETFUL,
                        &is_executed, &entry)) {
        return answer_ledger_failed(exchange);
    }
    bool is_ready = entry.ready_at_ms <= ledger_now_ms();
    describe(&entry, service, key, is_ready ? "done" : "pending", text);
    if (entry.state != STATE_DONE) {
        result = answer_cancelled(exchange, &entry); /* an undo overtook a late do */
    } else if (!is_spoilt(exchange, &behaviour, text, &result)) {
        result = answer_json(exchange, is_ready ? MHD_HTTP_CREATED : MHD_HTTP_ACCEPTED, text,
                             is_executed ? NULL : "Idempotent-Replayed", "true");
    }
    entry_finish(&entry);
    return result;
}

enum MHD_Result serve_do(const struct exchange *exchange, const char *service, const char *key)
{
    struct behaviour unused;
    json_error_t error;
    json_t *root = json_loadb(exchange->body, exchange->body_len, JSON_ALLOW_NUL, &error);
    bool is_object = json_is_object(root);
    json_decref(root);
    if (!is_object) {
        return answer_error(exchange, MHD_HTTP_BAD_REQUEST, "not_json", "the body is no JSON object");
    }
    if (!behaviour_of_body(exchange->body, (int64_t)exchange->body_len, service, ON_DO, &unused)) {
        return answer_error(exchange, MHD_HTTP_BAD_REQUEST, "behaviour",
                            "the field behaviour cannot be read");
    }
    struct entry noted;
    if (!ledger_note_do(exchange->remote->ledger, service, key, exchange->body, exchange->body_len, &noted)) {
        return answer_ledger_failed(exchange);
    }
    enum MHD_Result result = do_noted(exchange, service, key, &noted);
    entry_finish(&noted);
    return result;
}

static enum MHD_Result undo_noted(const struct exchange *exchange, const char *service, const char *key,
                                  const struct entry *noted)
{
    struct behaviour behaviour;
    enum MHD_Result result;
    struct entry entry;
    char text[ANSWER_SIZE];
    if (!choose_behaviour(exchange, service, ON_UNDO, noted, &behaviour)) {
        return answer_ledger_failed(exchange);
    }
    if (is_out(exchange, behaviour.mode, &result)) {
        return result;
    }
    if (behaviour.mode == MODE_UNDO_FAIL) {
        return answer_error(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, "undo_failed",
                            "the undo failed this time");
    }
    if (behaviour.mode == MODE_UNDO_REFUSE) {
        return answer_error(exchange, STATUS_REFUSED, "undo_refused", "it cannot be undone");
    }
    if (behaviour.mode == MODE_LATE && !wait_ms(exchange, behaviour.ms)) {
        return answer_nothing();
    }
    if (!ledger_undo(exchange->remote->ledger, service, key, &entry)) {
        return answer_ledger_failed(exchange);
    }
    bool is_first = noted->state == STATE_NONE || noted->state == STATE_DONE;
    describe(&entry, service, key, state_name(entry.state), text);
    if (is_spoilt(exchange, &behaviour, text, &result)) {
        ; /* answered */
    } else if (entry.state == STATE_CANCELLED &&
               exchange->remote->undo_unknown_status == MHD_HTTP_NOT_FOUND) {
        result = answer_error(exchange, MHD_HTTP_NOT_FOUND, "unknown",
                              "nothing to undo; it cannot begin any more");
    } else if (entry.state == STATE_CANCELLED) {
        result =
            answer_json(exchange, MHD_HTTP_NO_CONTENT, "", is_first ? NULL : "Idempotent-Replayed", "true");
    } else {
        result = answer_json(exchange, MHD_HTTP_OK, text, is_first ? NULL : "Idempotent-Replayed", "true");
    }
    entry_finish(&entry);
    return result;
}

enum MHD_Result serve_undo(const struct exchange *exchange, const char *service, const char *key)
{
    struct entry noted;
    if (!ledger_note_undo(exchange->remote->ledger, service, key, exchange->body, exchange->body_len,
                          &noted)) {
        return answer_ledger_failed(exchange);
    }
    enum MHD_Result result = undo_noted(exchange, service, key, &noted);
    entry_finish(&noted);
    return result;
}

enum MHD_Result serve_get(const struct exchange *exchange, const char *service, const char *key)
{
    struct entry entry;
    struct behaviour behaviour;
    char text[ANSWER_SIZE];
    if (!ledger_note_get(exchange->remote->ledger, service, key, &entry)) {
        return answer_ledger_failed(exchange);
    }
    enum MHD_Result result;
    if (!ledger_switch_take(exchange->remote->ledger, service, ON_GET, &behaviour)) {
        result = answer_ledger_failed(exchange);
    } else if (is_out(exchange, behaviour.mode, &result)) {
        ; /* answered */
    } else if (!entry.is_known || entry.state == STATE_NONE) {
        result = answer_error(exchange, MHD_HTTP_NOT_FOUND, "unknown", "nothing was done under this key");
    } else if (entry.state == STATE_UNDONE || entry.state == STATE_CANCELLED) {
        result =
            answer_error(exchange, MHD_HTTP_GONE, state_name(entry.state), "nothing stands under this key");
    } else {
        bool is_ready = entry.ready_at_ms <= ledger_now_ms();
        describe(&entry, service, key, is_ready ? "done" : "pending", text);
        if (!is_spoilt(exchange, &behaviour, text, &result)) {
            result = answer_json(exchange, is_ready ? MHD_HTTP_OK : MHD_HTTP_ACCEPTED, text, NULL, NULL);
        }
    }
    entry_finish(&entry);
    return result;
}
