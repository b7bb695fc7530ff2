/*
 * A profile: how the services of a workflow behave in a simulation, which signals come, and how many orders.
 * It is set from options (`--fail payment=30%`), from a file (proto/profile.schema.json) or from both. The
 * file has the same words.
 *
 * A name is a step, a service or a signal. A step's setting outranks that of its service or signal, one of a
 * kind of call ("reserve.undo") that of all kinds; of equal ones the later counts.
 */
#ifndef MG_REHEARSE_PROFILE_H
#define MG_REHEARSE_PROFILE_H

#include "spread.h"
#include "workflow/case_file.h"

enum mg_setting {
    MG_SETTING_TIME,   /* of a call; of a wait with "until", the time until its moment */
    MG_SETTING_FAIL,   /* share of the calls that the service answers with 503, and does nothing */
    MG_SETTING_REFUSE, /* share of the orders that it refuses with 422, and its answer stays the same; with a
                          signal, the share of them that refuse */
    MG_SETTING_LOSE,   /* share of the calls that it handles while the answer is lost */
    MG_SETTING_FINISH, /* it answers 202, and has finished after this time */
    MG_SETTING_DOWN,   /* no connection, in this time of the simulation */
    MG_SETTING_WHEN,   /* share of the orders in which the step's guard lets it go */
    MG_SETTING_SIGNAL, /* share of the orders that get the signal, and its time */
    MG_SETTING_CHOICE, /* share of these signals that carry a payload */
    MG_SETTING_COUNT
};

/* One kind of call of a step. */
struct mg_habit {
    struct mg_spread time, finish;
    uint32_t fail, refuse, lose; /* shares */
    bool has_time, has_finish;
};

/* Payloads of the signals for one step, each with its share; the rest refuse nothing and carry none. */
struct mg_choices {
    int count;
    struct {
        uint32_t share;
        struct mg_slice payload; /* in the definition, or in the profile's arena */
    } items[MG_SIGNAL_CHOICES_MAX];
};

#define MG_OUTAGES_MAX 16 /* of one service */
struct mg_outages {
    int count;
    struct {
        int64_t from_ms, until_ms; /* since the start */
    } items[MG_OUTAGES_MAX];
};

#define MG_CLAIMS_MAX         32
#define MG_PROFILE_MAX_BYTES  ((size_t)1024 * 1024)
#define MG_PROFILE_ORDERS_MAX 1000000
#define MG_PROFILE_ORDERS     10000
#define MG_PROFILE_RATE       "50"
#define MG_PROFILE_STOP_MS    (30 * INT64_C(86400000))
#define MG_PROFILE_LINES_MAX  1000000    /* as many as orders */
#define MG_WHEN_OPEN          UINT32_MAX /* no share is given */

struct mg_profile {
    const struct mg_workflow *workflow;
    struct mg_slice text; /* of the file, in the arena; absent: none */
    struct mg_arena *arena;
    int64_t orders, seed;
    int64_t rate;          /* orders in 1000 seconds */
    int64_t stop_after_ms; /* the last order has this long */
    int64_t accepted_at_ms;
    struct mg_slice payload;                        /* absent: none */
    struct mg_slice results[MG_STEPS_MAX];          /* absent: none */
    struct mg_slice services[MG_CASE_SERVICES_MAX]; /* quoted paths of service files */
    int service_count;
    struct mg_habit habits[MG_STEPS_MAX][MG_KIND_COUNT];
    struct mg_outages outages[MG_STEPS_MAX]; /* by mg_profile_number */
    uint32_t when[MG_STEPS_MAX];             /* shares, or MG_WHEN_OPEN */
    struct mg_arrival signals[MG_STEPS_MAX]; /* of steps with has_signal */
    bool has_signal[MG_STEPS_MAX];
    struct mg_choices choices[MG_STEPS_MAX];
    int64_t lines; /* over which the orders are spread, if they have a `sequence`; 0: not given */
    struct mg_slice claims[MG_CLAIMS_MAX]; /* expressions that no end of an order fulfils */
    int claim_count;
    uint8_t ranks[MG_SETTING_COUNT][MG_STEPS_MAX][MG_KIND_COUNT]; /* of the settings so far */
};

/* The defaults: 10,000 orders, 50 a second; each call takes 100 ms and goes well. NULL: no memory. */
struct mg_profile *mg_profile_create(const struct mg_workflow *workflow);
void mg_profile_destroy(struct mg_profile *profile); /* accepts NULL */

const char *mg_setting_name(enum mg_setting setting); /* "fail" */

/* MG_BAD_INPUT: the name or the value is wrong; the text has a valid form. */
enum mg_class mg_profile_set(struct mg_profile *profile, enum mg_setting setting, const char *name,
                             const char *value, struct mg_err *err) MG_MUSTCHECK;
/* The same from an option, "payment=30%". */
enum mg_class mg_profile_set_pair(struct mg_profile *profile, enum mg_setting setting, const char *pair,
                                  struct mg_err *err) MG_MUSTCHECK;
/* Orders a second: "50", "0.5". */
enum mg_class mg_profile_set_rate(struct mg_profile *profile, const char *text,
                                  struct mg_err *err) MG_MUSTCHECK;
/* An expression over `end`, `state.STEP`, `stands.STEP`; a copy is kept. MG_PERMANENT: there are too many. */
enum mg_class mg_profile_add_claim(struct mg_profile *profile, struct mg_slice text,
                                   struct mg_err *err) MG_MUSTCHECK;
/* Results of steps: an object with a member for each; it outlives the profile. */
enum mg_class mg_profile_set_results(struct mg_profile *profile, struct mg_slice results,
                                     struct mg_err *err) MG_MUSTCHECK;

/* Reads a file into the profile. MG_BAD_INPUT after all mistakes were passed to `mistakes`. */
enum mg_class mg_profile_read(struct mg_profile *profile, struct mg_slice text,
                              const struct mg_mistakes *mistakes, struct mg_err *err) MG_MUSTCHECK;

/* Whether all is known that a simulation needs: a share or a payload for each condition, a moment for each
 * wait that has one, the signals of each that has one, the number of lines. A payload is held against `input`
 * and `require`, as that of an order is. MG_BAD_INPUT: the text names the missing one, and the option that
 * gives it. */
enum mg_class mg_profile_check(const struct mg_profile *profile, struct mg_err *err) MG_MUSTCHECK;

/* ---- profile_names.c ---- */

/* The name that a step shares with others: of its service, or of the signal for which it waits. NULL: it
 * waits for a time. */
const char *mg_profile_shared_name(const struct mg_workflow *workflow, int step);
/* The number of a step's service, or of its signal: that of the first step with it. */
int mg_profile_number(const struct mg_workflow *workflow, int step);

#endif
