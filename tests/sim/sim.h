/*
 * The simulator's kernel: one thread, one event queue, one seed. Production code of several schedulers,
 * agents and supervisors runs on it, linked with simulated loops, clocks, random numbers, broker, database
 * and remote services. Nothing here reads a clock or the machine's randomness: the same seed and options give
 * the same run, which a hash of its trace proves.
 *
 * A run is one process (main.c forks one for each seed). Memory of a killed node is not freed; the end of the
 * process frees it.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/store/store.h"

/* ---- nodes: the processes of the simulated system ---- */

enum sim_role { SIM_SCHEDULER, SIM_AGENT, SIM_SUPERVISOR, SIM_ROLE_COUNT };

struct sim_node {
    enum sim_role role;
    char name[32]; /* "scheduler-1": for the trace; the instance name adds the life's number */
    int index;     /* among all nodes */
    uint32_t life; /* increases at every start */
    bool is_alive;
    int64_t paused_until_us; /* its events wait until then */
    int64_t boot_ahead_us;   /* its CLOCK_BOOTTIME minus the world's clock */
    int64_t wall_ahead_ms;   /* its wall clock minus the true time */
    void *service;           /* nodes.c: the service that runs there */
};

int sim_node_count(void);
struct sim_node *sim_node_at(int index);
/* The node that runs now; NULL: the world itself (broker, database, remote services, clients). */
struct sim_node *sim_node(void);

/* ---- events ---- */

typedef void sim_fn(void *arg);

/* Runs `fn` on `node` (NULL: in the world) after the delay. A node's planned events are dropped when it dies,
 * and wait while it is paused. Events of the same moment run in the order in which they were planned. */
void sim_after(struct sim_node *node, int64_t delay_us, sim_fn *fn, void *arg);
int64_t sim_now_us(void);  /* since the run began */
int64_t sim_true_ms(void); /* the true time, in milliseconds since 1970 */

/* ---- chance ---- */

enum sim_fault {
#define SIM_CHANCE(NAME, most)  SIM_##NAME,
#define SIM_PERIOD(NAME, least) SIM_##NAME,
#define SIM_STRUCK(NAME)        SIM_##NAME,
#include "faults.def"
    SIM_FAULT_COUNT
};
const char *sim_fault_name(enum sim_fault fault);

uint64_t sim_draw(uint64_t count);                   /* 0 … count - 1, evenly */
int64_t sim_draw_between(int64_t low, int64_t high); /* both included, evenly */
/* Some delay: mostly near `typical`, now and then ten times that. */
int64_t sim_draw_delay_us(int64_t typical_us);
/* Whether this fault happens now, by its rate in this run; never after healing. Counts it. */
bool sim_happens(enum sim_fault fault);
/* Time until the next occurrence of a spontaneous fault; -1: never in this run. Plan it; when it is due,
 * check sim_is_healed(), call sim_happened(), and plan the next. */
int64_t sim_next_us(enum sim_fault fault);
void sim_happened(enum sim_fault fault);
uint32_t sim_occasions(enum sim_fault fault); /* occasions of this chance so far, in a script's run */
/* The result of an adapter's own allocation: false now and then, if a script demands it. */
bool sim_has_memory(void);
/* The running node calls abort(), after logging the reason. Without a log line or a reason this ends the
 * run. */
void sim_node_abort(void) __attribute__((noreturn));
/* The same, done by the kernel: calls `fn` (with NULL, in the world) each time, until healing. */
void sim_every(enum sim_fault fault, sim_fn *fn);
bool sim_has_happened(enum sim_fault fault); /* in this run, at least once */
bool sim_may_happen(enum sim_fault fault);   /* the fault is enabled in this run */
/* The database's clock has not jumped: only then does it show that something was late. */
bool sim_is_time_true(void);

/* Nothing fails in this run, except that the database's clock is set: clock_run.c. */
bool sim_is_clock_run(void);
/* Nothing fails in this run, except that queues lose their majority: minority_run.c. */
bool sim_is_minority_run(void);
/* Nothing fails in this run, except that a service is slow: full_run.c. */
#define SIM_FULL_WINDOW 8 /* of its schedulers and supervisors */
bool sim_is_full_run(void);
bool sim_is_alone(void); /* one of these: such a run lasts longer and has more orders */

/* Some services of this run misbehave: rough.c. */
bool sim_is_rough_run(void);

/* True once all faults have stopped for good; from here on everything must end. Broken, slow, blocked and
 * delayed parts continue by themselves at that moment: see sim_store_heal. */
bool sim_is_healed(void);

/* ---- reports ---- */

/* One line of the trace: hashed where two runs are compared, printed with --trace. */
void sim_trace(const char *format, ...) MG_PRINTF(1, 2);
/* An invariant does not hold: the run ends here. `name` is a constant, one of the invariants in README.md. */
void sim_violated(const char *name, const char *format, ...) MG_PRINTF(2, 3) __attribute__((noreturn));

/* ---- the database (store_*.c), besides io/store/store.h ---- */

void sim_store_start(void);     /* plans its faults; before any node starts */
void sim_store_heal(void);      /* faults end: up, writable, its clock right from now on */
int64_t sim_store_now_ms(void); /* the database's clock */
void sim_store_set_clock(int64_t ahead_ms);
/* The clock was set forward past this moment. By the clock before, the moment is still to come. */
bool sim_store_passed_too_early(int64_t moment_ms);
bool sim_store_went_back_unseen(void); /* the clock was ahead, and no sweep of the leader observed it */
/* The node died without closing its connections. The server notices at once and ends its sessions. Statements
 * sent before may still run or not. A paused node's sessions stay, but a leader's has an idle time-out. */
void sim_store_node_died(struct sim_node *node);

/* A committed order, with all its events in order; for the checker. */
struct sim_stored {
    const struct mg_order_record *record;
    const struct mg_event_record *events;
    int event_count;
    const struct sim_event_times *times; /* parallel to events: store_tables.h */
};
bool sim_store_find(const char *order_id, struct sim_stored *ret_stored);
int sim_store_order_count(void);
int64_t sim_store_parked_count(const char *service); /* steps that wait for a place in its normal queue */
void sim_store_order_at(int index, struct sim_stored *ret_stored); /* in the order of their insertion */

/* ---- reports of the database to the checker (checker.c), during the run ---- */

/* A transaction with this order is being committed; `before` NULL: the order is new. */
void sim_check_committed(const struct mg_order_record *before, const struct mg_order_write *write);
/* A failover lost this order's newest events; `is_all`: the whole order. */
void sim_check_tail_lost(const char *order_id, bool is_all, uint64_t lost_marks);
/* This session has written a sweep, or an alert fenced by an epoch. */
void sim_check_led(uint64_t epoch, const char *holder);
/* A sweep of the leader, sent at that time, looked at this passed deadline. It asked for the verdict, or left
 * the deadline alone. `of`: the step's attempt, or (step -1) the order's complete-by itself. */
void sim_check_deadline(const char *order_id, int step, int64_t of, bool is_asked, int64_t sent_us);
void sim_check_sweeps_lost(void); /* in a failover: the next sweep may repeat a grace */
/* A sweep asked about this step, which is parked. */
void sim_check_parked_asked(const char *order_id, int step);
/* clock_run.c: the database's clock is set. */
void sim_check_clock_was_set(void);
/* An order is tried again after this queue did not take its statuses. */
void sim_check_asked_owed(struct mg_slice queue);

#endif
