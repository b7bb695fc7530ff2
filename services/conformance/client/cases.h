/*
 * The cases of a client's conformance, as data, and the verdicts on the acts of a client. No input or
 * output.
 */
#ifndef MG_CONFORMANCE_CLIENT_CASES_H
#define MG_CONFORMANCE_CLIENT_CASES_H

#include "client_conformance.h"
#include "core/model.h"
#include "frames.h"

/* One case is one run of the command with one order. */
enum mg_client_case {
    MG_CASE_PLAIN,
    MG_CASE_PATIENCE,
    MG_CASE_REPEAT,
    MG_CASE_ORDER,
    MG_CASE_GAP,
    MG_CASE_FOREIGN,
    MG_CASE_UNREADABLE,
    MG_CASE_MEMBERS,
    MG_CASE_WORD,
    MG_CASE_REJECTED,
    MG_CASE_REFUSED,
    MG_CASE_RETURNED,
    MG_CASE_CONFIRM_LOST,
    MG_CASE_CUT,
    MG_CASE_COUNT
};

enum mg_client_message {
    MG_MESSAGE_NONE, /* ends a list */
    MG_MESSAGE_STATUS,
    MG_MESSAGE_MORE,     /* with members that no schema has yet */
    MG_MESSAGE_WORD,     /* with a status that no schema has yet */
    MG_MESSAGE_FOREIGN,  /* of another order */
    MG_MESSAGE_TEXT,     /* no JSON */
    MG_MESSAGE_WORDLESS, /* a status without its word */
    MG_MESSAGE_HUGE,     /* the largest message, nested as deep */
};
struct mg_client_send {
    enum mg_client_message message;
    uint64_t seq;
    enum mg_status status;
};

#define MG_CASE_SENDS_MAX 8
struct mg_case {
    enum mg_client_rule rule;
    const char *what; /* was sent; "" if the rule has words of its own */
    struct mg_client_send sends[MG_CASE_SENDS_MAX + 1];
    uint64_t due;   /* one bit for each seq with a line that must come */
    bool is_strict; /* every line is judged; false: only those that are due */
};
const struct mg_case *mg_case_of(enum mg_client_case which);

/* ---- the acts of a client ---- */

#define MG_CLIENT_LINES_MAX 32 /* none of the cases has a fourth of it */
#define MG_CLIENT_WORD_MAX  23
#define MG_CLIENT_SAID_SIZE 120

struct mg_client_line {
    char order_id[MG_ORDER_ID_MAX + 1];
    uint64_t seq;
    char status[MG_CLIENT_WORD_MAX + 1];
};
/* A status that no schema has yet. */
#define MG_CLIENT_LATER_WORD "resting"
/* "ORDER_ID SEQ STATUS", and anything after a blank. False: the line is invalid, or its word is no status.
 */
bool mg_client_line_parse(const char *text, struct mg_client_line *ret_line);

struct mg_client_seen {
    int posts;                          /* that the intake got, and that count */
    char order_id[MG_ORDER_ID_MAX + 1]; /* of the first one */
    bool has_other_order;               /* a later one had another id */
    bool has_other_bytes;               /* or the same id and other bytes */
    struct mg_client_line lines[MG_CLIENT_LINES_MAX];
    int line_count;
    bool has_ended;
    int exit_code, signal_number;
    char said[MG_CLIENT_SAID_SIZE]; /* its last line that is no status */
};

/* A program has so long to end after its order. */
#define MG_CLIENT_END_MS 5000

/* All lines that are due have come. */
bool mg_case_is_complete(enum mg_client_case which, const struct mg_client_seen *seen);

/* ---- verdicts ---- */

void mg_client_judge(struct mg_finding *finding, enum mg_keeping keeping, const char *format, ...)
    MG_PRINTF(3, 4);
/* The verdict on the case's own rule. */
void mg_case_judge(enum mg_client_case which, const struct mg_client_seen *seen, int64_t timeout_ms,
                   struct mg_finding *ret_finding);
/* MG_CLIENT_SAME_BYTES, MG_CLIENT_NEW_ID and MG_CLIENT_ENDS, by all cases. */
void mg_cases_judge(const struct mg_client_seen seen[MG_CASE_COUNT], struct mg_finding *findings);
/* The rules on the form of a post, by the frames of one. `posts` and `confirming` as the relay counted. */
void mg_posted_judge(const struct mg_posted *posted, bool is_confirming, struct mg_finding *findings);

#endif
