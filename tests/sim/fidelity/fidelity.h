/*
 * One seed's sequence of calls on a store, and a line of text for each answer. Built twice: on PostgreSQL and
 * on the simulated database. Both must print the same text.
 */
#ifndef FIDELITY_H
#define FIDELITY_H

#include <stdio.h>

#include "../../integration/record_fixture.h"
#include "io/store/owed.h"

#define FIDELITY_PEERS    4 /* two schedulers, then two supervisors */
#define FIDELITY_STEPS    150
#define FIDELITY_START_MS INT64_C(1780000000000) /* by the database's clock */

/* A store and the means to wait for it; created and owned by the side that runs it. */
struct fidelity_peer {
    struct mg_store *store;
    bool is_answered;
};

/* Functions that each side implements in its own way. */
struct fidelity_peer *fidelity_peer(int index);
void fidelity_wait(struct fidelity_peer *peer); /* until its call is answered */
void fidelity_wake(struct fidelity_peer *peer); /* its call is answered */
void fidelity_lose(struct fidelity_peer *peer); /* its session is killed; returns once it has another */
void fidelity_set_clock(int64_t now_ms);        /* the database's clock; it is stopped */

void fidelity_play(uint64_t seed, FILE *out);
/* A report without parameters, with a line for each of its rows (fidelity_report.c). */
void fidelity_play_report(struct fidelity_peer *peer, enum mg_report report, FILE *out);

/* ---- draws (fidelity_draw.c) ---- */

#define FIDELITY_ORDERS     24
#define FIDELITY_EVENTS_MAX 3
#define FIDELITY_ALERTS_MAX 3
#define FIDELITY_ANY(array) ((array)[fidelity_draw(sizeof(array) / sizeof((array)[0]))])

void fidelity_draw_begin(uint64_t seed);
void fidelity_draw_around(int64_t now_ms); /* moments are drawn around this one */
uint64_t fidelity_draw(uint64_t count);    /* 0 … count - 1 */
bool fidelity_is_rare(void);
const char *fidelity_order_id(int order);
struct mg_slice fidelity_draw_text(void);
const char *fidelity_draw_cause(void);
struct mg_alert_write fidelity_draw_alert(void);
/* Of a sweep. Among orders that wake at the same moment a limit may pick any: no limit may separate two of
 * them. `known`: all orders as last read. */
int fidelity_draw_limit(const struct mg_order_record *known, int64_t now_ms);
void fidelity_draw_grace(struct mg_sweep_options *options);

/* Values that a write refers to. */
struct fidelity_writing {
    struct mg_order_record record;
    struct mg_event_record events[FIDELITY_EVENTS_MAX];
    struct mg_alert_write alerts[FIDELITY_ALERTS_MAX];
    struct mg_label labels[2]; /* of a new order */
};
/* `known`: the order as last read; all zero: never. */
void fidelity_draw_write(const struct mg_order_record *known, int order, struct fidelity_writing *writing,
                         struct mg_order_write *write);

/* ---- printed answers (fidelity_tell.c) ---- */

void fidelity_tell_time(FILE *out, const char *name, int64_t at_ms); /* as an offset from the start */
void fidelity_tell_sqlstate(FILE *out, const char *text);            /* "…(22P02)" as the store words it */
void fidelity_tell_record(FILE *out, const struct mg_order_record *record);
void fidelity_tell_event(FILE *out, const struct mg_event_record *event);
/* Sorted, so that the store may give any order; `arena` takes the sorted copy. */
void fidelity_tell_sweep(FILE *out, struct mg_arena *arena, const struct mg_sweep_answer *answer);
void fidelity_tell_owed(FILE *out, struct mg_arena *arena, bool is_leader, const struct mg_due *found,
                        int count);
void fidelity_tell_parked(FILE *out, const struct mg_parked_answer *answer); /* as it comes */

#endif
