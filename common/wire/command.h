/*
 * Supervisor and operator → scheduler (proto/command.schema.json), and the scheduler's answer to a command
 * with a reply queue (proto/command_result.schema.json).
 */
#ifndef MG_WIRE_COMMAND_H
#define MG_WIRE_COMMAND_H

#include "base/id.h"
#include "core/model.h"
#include "json/json.h"

#define MG_COMMAND_REASON_MIN  3 /* of people: a letter or two are no reason */
#define MG_COMMAND_REASON_MAX  511
#define MG_COMMAND_BY_MAX      127
#define MG_COMMAND_SETS_MAX    16    /* repairs of the payload in one resume */
#define MG_COMMAND_POINTER_MAX 511   /* bytes of a pointer into the payload */
#define MG_COMMAND_RESULT_MAX  65536 /* bytes of a result; of an agent's reply by default, too */
/* An event's own id in the sender's system fits, as an order's does. */
#define MG_COMMAND_ID_MAX MG_ORDER_ID_MAX
#define MG_COMMAND_ID_RIGHT                                                                                  \
    "1 to 64 characters A-Z, a-z, 0-9, \".\", \"_\", \":\", \"-\" (a UUID, or the id of an event)"
bool mg_command_id_is_valid(const char *text, size_t len);
/* Bytes of a key. It is part of an index's key, of which PostgreSQL takes 2700. */
#define MG_SIGNAL_KEY_MAX   256
#define MG_SIGNAL_KEY_RIGHT "1 to 256 bytes of UTF-8 without control characters"
bool mg_signal_key_is_valid(const char *text, size_t len);
/* What a person was shown of a step that waits: SHA-256, in hex, of the step's name, its attempt and the same
 * of the order's payload as stored, with a newline between them. report_awaiting.sql computes it, too. */
#define MG_SHOWN_SIZE  (2 * MG_SHA256_SIZE + 1)
#define MG_SHOWN_RIGHT "64 small hexadecimal digits"
bool mg_shown_is_valid(const char *text, size_t len);
void mg_shown_make(const char *step, uint32_t attempt, struct mg_slice payload,
                   char ret_shown[MG_SHOWN_SIZE]);
/* Bytes of a payload: it becomes the result of a step, which has this bound, too. */
#define MG_SIGNAL_PAYLOAD_MAX MG_COMMAND_RESULT_MAX
/* Whether a text can be the payload of a signal: JSON that within a command keeps the limits of messages. */
enum mg_class mg_signal_payload_check(struct mg_slice text, struct mg_err *err) MG_MUSTCHECK;

struct mg_command {
    /* Also the message_id; the same command sent twice causes one change. */
    char command_id[MG_COMMAND_ID_MAX + 1];
    /* OVERDUE DUE EXPIRED NUDGE OWED FIRE SIGNAL TURN RESUME RESTART SETTLE SKIP COMPENSATE CANCEL
     * RELEASE */
    enum mg_cause_kind kind;
    char order_id[MG_ORDER_ID_MAX + 1]; /* "": a signal with a key */
    /* overdue, due, settle, skip; resume with is_repeat; callback; signal to an order that names its step; ""
     * else */
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;        /* overdue, due; 0 else */
    uint64_t version;        /* the version that was the basis of the decision; 0: not given */
    uint64_t seq;            /* owed: number of the event with owed statuses */
    enum mg_outcome outcome; /* settle: done or absent */
    struct mg_slice result;  /* settle as done: the step's result, borrowed from the body; absent: none */
    char by[MG_COMMAND_BY_MAX + 1];
    char reason[MG_COMMAND_REASON_MAX + 1];
    bool is_repeat;                 /* resume: the do of `step`, or its failed undo, goes out once more */
    bool is_without_output;         /* resume: the order ends without the output that cannot be built */
    char schedule[MG_NAME_MAX + 1]; /* fire */
    int64_t slot_ms;                /* fire: the slot; `order_id` is that of its order */
    bool is_backfill;               /* fire: although other orders have not ended */
    int set_count;                  /* resume: repairs of the payload */
    struct {
        struct mg_slice pointer, value;
    } sets[MG_COMMAND_SETS_MAX];     /* pointer: plain text; borrowed from body/arena */
    char signal[MG_NAME_MAX + 1];    /* signal: its name; "": a callback */
    char key[MG_SIGNAL_KEY_MAX + 1]; /* signal: in place of the order's id */
    char shown[MG_SHOWN_SIZE];       /* signal: it counts only for the step as it was shown; "": for any */
    struct mg_slice payload;         /* signal: any JSON, borrowed from the body; not given: null */
    /* callback: of the key with which the step's do went out; turn: of the order, when it took its place */
    uint32_t generation;
};

void mg_command_write(const struct mg_command *command, struct mg_buf *ret_body);
enum mg_class mg_command_parse(struct mg_slice body, const struct mg_json_limits *limits,
                               struct mg_arena *arena, struct mg_command *ret_command,
                               struct mg_err *err) MG_MUSTCHECK;

enum mg_command_verdict { MG_COMMAND_DONE, MG_COMMAND_CONFLICT, MG_COMMAND_NOT_FOUND, MG_COMMAND_INVALID };
const char *
mg_command_verdict_name(enum mg_command_verdict verdict); /* "done", "conflict", "not_found", "invalid" */

struct mg_command_result {
    char command_id[MG_COMMAND_ID_MAX + 1];
    char order_id[MG_ORDER_ID_MAX + 1]; /* "": of a signal with a key for which there is no order yet */
    enum mg_command_verdict verdict;
    enum mg_signal_outcome signal;        /* of a signal that was decided on; else NONE */
    bool may_pass;                        /* invalid: the same command may succeed later */
    uint64_t version;                     /* the order's current version; 0: there is no order */
    enum mg_order_state state;            /* the order's current state; undefined if there is no version */
    char text[MG_COMMAND_REASON_MAX + 1]; /* the reason, for people */
};
void mg_command_result_write(const struct mg_command_result *result, struct mg_buf *ret_body);
enum mg_class mg_command_result_parse(struct mg_slice body, struct mg_command_result *ret_result,
                                      struct mg_err *err) MG_MUSTCHECK;

#endif
