/*
 * How a sample service misbehaves: parsed from the words that an order, a switch or the command line uses,
 * "mode", "mode:NUMBER" or "mode:NUMBER:COUNT". Independent of HTTP and of the ledger.
 */
#ifndef REMOTE_BEHAVIOUR_H
#define REMOTE_BEHAVIOUR_H

#include <stdbool.h>
#include <stdint.h>

enum mode {
    MODE_ORDER,  /* from the order's body; the switch is not set */
    MODE_NORMAL, /* well, even if the order's body names a mode */
    MODE_DECLINE,
    MODE_UNAVAILABLE,
    MODE_TOO_MANY,
    MODE_REDIRECT,
    MODE_PAGE,
    MODE_SILENT,
    MODE_LATE,
    MODE_SLOW,
    MODE_DROP,
    MODE_GARBAGE,
    MODE_HUGE,
    MODE_TRUNCATE,
    MODE_ACCEPT,
    MODE_FORGETFUL,
    MODE_UNDO_FAIL,
    MODE_UNDO_REFUSE,
    MODE_UNDO_PAGE,
    MODE_COUNT,
};

/* Kinds of requests, as bits: which of them a behaviour touches. */
enum { ON_DO = 1, ON_UNDO = 2, ON_GET = 4, ON_ALL = 7 };

struct behaviour {
    enum mode mode;
    int64_t ms;    /* of slow, late, accept */
    int64_t count; /* the first so many requests of one key; -1: all */
};

#define BEHAVIOUR_TEXT_SIZE 128             /* several words of the longest kind */
#define BEHAVIOUR_MS_MAX    (3600 * 1000LL) /* a longer wait outlives every test */

/* False if the text is no behaviour. */
bool behaviour_parse(const char *text, struct behaviour *ret_behaviour);
/* The behaviour that an order's body requests for requests of `kind` (ON_DO or ON_UNDO). Field `behaviour`,
 * at the top level or in `payload`, is a text of words separated by commas, or an object of such texts by
 * service. The first word for that kind counts. Without one, or if the body is not JSON, it is MODE_NORMAL.
 * False if a word cannot be read. */
bool behaviour_of_body(const char *body, int64_t len, const char *service, int kind,
                       struct behaviour *ret_behaviour);
/* The kinds that a switch touches by default: an outage all of them, another mode those of its row. */
int behaviour_default_on(enum mode mode);
const char *mode_name(enum mode mode);

#endif
