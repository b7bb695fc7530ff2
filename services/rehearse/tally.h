/* The counts of a simulation, in constant memory whatever the number of orders. */
#ifndef MG_REHEARSE_TALLY_H
#define MG_REHEARSE_TALLY_H

#include "core/model.h"
#include "quantiles.h"

struct mg_step_tally {
    uint64_t begun; /* orders in which it was sent, or began to wait */
    uint64_t done, skipped, failed, undone, undo_failed;
    struct mg_quantiles attempts; /* calls of its do, of the orders in which it was sent */
    struct mg_quantiles time_ms;  /* from its first request to its proof, of those that were done */
};

struct mg_service_tally {
    uint64_t calls;
    uint64_t peak; /* calls in the busiest second */
};

struct mg_signal_tally {
    uint64_t waited; /* waits for it that began */
    uint64_t done, refused, timed_out;
    uint64_t early;              /* of those done or refused: by signals that came before the step began */
    uint64_t late;               /* signals for which no step waited any more */
    struct mg_quantiles time_ms; /* of the waits that ended */
};

struct mg_line_tally {
    uint64_t waited;             /* orders that found another one of their key */
    uint64_t longest;            /* orders of one key at one time, with the one that ran */
    struct mg_quantiles time_ms; /* until their turn, of those that waited and had it */
};

/* Why orders turned back, ended in error, or are still open. */
struct mg_cause_tally {
    enum mg_order_state state;
    int step;                   /* -1: the order as a whole */
    enum mg_step_state at;      /* of the step */
    enum mg_reason why, reason; /* of the order; of the step */
    uint64_t count;
};

/* Few pairs of step and reason occur; further ones are counted as one. */
#define MG_CAUSES_MAX 256

struct mg_tally {
    uint64_t orders;
    uint64_t open;     /* without an end when the simulation stopped */
    uint64_t rejected; /* the line of their key was full */
    struct mg_ended {
        uint64_t count;
        struct mg_quantiles time_ms; /* from the submission to the end */
    } ends[MG_ORDER_STATE_COUNT];
    struct mg_step_tally steps[MG_STEPS_MAX];
    struct mg_service_tally services[MG_STEPS_MAX]; /* by mg_profile_number */
    struct mg_signal_tally signals[MG_STEPS_MAX];   /* likewise */
    struct mg_line_tally lines;
    struct mg_cause_tally causes[MG_CAUSES_MAX];
    int cause_count;
    uint64_t other_causes;
    int64_t stopped_ms; /* the last event of an order, since the start */
    uint64_t decisions;
};

/* Adds one to the cause like this one. */
void mg_tally_cause(struct mg_tally *tally, const struct mg_cause_tally *cause);
/* The largest first. */
void mg_tally_sort(struct mg_tally *tally);

#endif
