/*
 * The simulator's kernel: one thread, one line of events, one seed. Production code of several schedulers,
 * agents and supervisors runs on it, linked with simulated loops, clocks, random numbers, broker, database
 * and remote services. Nothing here reads a clock or the machine's randomness: the same seed and options give
 * the same run, which a hash of its trace proves.
 *
 * A run is one process's whole work (main.c forks one for each seed), so what a killed node leaves behind in
 * memory is left; the run's end frees it.
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
    char name[32]; /* "scheduler-1": for the trace; its instance has the life's number beside it */
    int index;     /* among all nodes */
    uint32_t life; /* rises with every start */
    bool is_alive;
    int64_t paused_until_us; /* its events wait till then */
    int64_t boot_ahead_us;   /* its CLOCK_BOOTTIME less the world's clock */
    int64_t wall_ahead_ms;   /* its wall clock less the true time */
    void *service;           /* nodes.c: what runs there */
};

int sim_node_count(void);
struct sim_node *sim_node_at(int index);
/* Whose code is running; NULL: the world's own (broker, database, remote services, clients). */
struct sim_node *sim_node(void);

/* ---- events ---- */

typedef void sim_fn(void *arg);

/* Runs `fn` on `node` (NULL: in the world) after so long. What was planned on a node is forgotten when that
 * node dies, and waits while it is paused. Events of the same moment run in the order in which they were
 * planned. */
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
/* Whether this fault happens now: by its rate in this run, never once the run is healed. Counts it. */
bool sim_happens(enum sim_fault fault);
/* Of a fault that comes by itself: in how long, from now; -1: never in this run. Plan it, and when its time
 * has come ask sim_is_healed(), tell sim_happened(), and plan the next. */
int64_t sim_next_us(enum sim_fault fault);
void sim_happened(enum sim_fault fault);
uint32_t sim_occasions(enum sim_fault fault); /* how often this chance was asked for, in a script's run */
/* What an adapter's own allocation does: false once in a while, if a script says so. */
bool sim_has_memory(void);
/* The running node calls abort(), having said why; ends the run if it has not, or had no reason to. */
void sim_node_abort(void) __attribute__((noreturn));
/* The same, done by the kernel: calls `fn` (with NULL, in the world) each time, until the run is healed. */
void sim_every(enum sim_fault fault, sim_fn *fn);
bool sim_has_happened(enum sim_fault fault); /* in this run, at least once */
bool sim_may_happen(enum sim_fault fault);   /* this run has it */
/* The database's clock has not jumped: only then does it say when something was late. */
bool sim_is_time_true(void);

/* Nothing fails in this run, but the database's clock is set: clock_run.c. */
bool sim_is_clock_run(void);
/* Nothing fails in this run, but queues lose their majority: minority_run.c. */
bool sim_is_minority_run(void);
bool sim_is_alone(void); /* one of these: it lasts longer, and has more orders */

/* True once all faults have stopped for good; everything must end from here on. Whatever is down, slow,
 * blocked or held back goes on by itself at that moment: see sim_store_heal. */
bool sim_is_healed(void);

/* ---- what is told ---- */

/* One line of the trace: hashed where two runs are compared, printed with --trace. */
void sim_trace(const char *format, ...) MG_PRINTF(1, 2);
/* An invariant does not hold: the run ends here. `name` is the invariant's, constant, as README.md lists
 * them. */
void sim_violated(const char *name, const char *format, ...) MG_PRINTF(2, 3) __attribute__((noreturn));

/* ---- the database (store_*.c), beside what io/store/store.h asks of it ---- */

void sim_store_start(void);     /* plans its faults; before any node starts */
void sim_store_heal(void);      /* faults have stopped: up, writable, its clock right, from this moment on */
int64_t sim_store_now_ms(void); /* the database's clock */
void sim_store_set_clock(int64_t ahead_ms);
/* Its clock was set forward past this moment, which by the clock before has not come yet. */
bool sim_store_passed_too_early(int64_t moment_ms);
bool sim_store_went_back_unseen(void); /* its clock was ahead, and no sweep of the leader saw it so */
/* The node is gone without a word: the server notices at once and ends its sessions; what was sent to it
 * before may still be done or not. A paused node's sessions stay, but for the idle session time-out of a
 * leader's. */
void sim_store_node_died(struct sim_node *node);

/* An order as it is committed, with all its events in order; for the checker. */
struct sim_stored {
    const struct mg_order_record *record;
    const struct mg_event_record *events;
    int event_count;
    const struct sim_event_times *times; /* parallel to events: store_tables.h */
};
bool sim_store_find(const char *order_id, struct sim_stored *ret_stored);
int sim_store_order_count(void);
void sim_store_order_at(int index, struct sim_stored *ret_stored); /* in the order of their insertion */

/* What the database tells the checker (checker.c), while it happens. */

/* One order of a transaction that is committed now; `before` NULL: it is new. */
void sim_check_committed(const struct mg_order_record *before, const struct mg_order_write *write);
/* A failover lost this order's newest events; `is_all`: the order whole. */
void sim_check_tail_lost(const char *order_id, bool is_all, uint64_t lost_marks);
/* A sweep, or an alert fenced by an epoch, has been written by this session. */
void sim_check_led(uint64_t epoch, const char *holder);
/* A sweep of the leader, sent then, looked at this deadline that has passed: of the attempt of a step, or
 * (step -1) of the order. It asked for the verdict, or left it alone. */
void sim_check_deadline(const char *order_id, int step, uint32_t attempt, bool is_asked, int64_t sent_us);
void sim_check_sweeps_lost(void); /* in a failover: the next one may give a grace that was given */
/* A sweep asked about this step, which waits for the gate of its service. */
void sim_check_parked_asked(const char *order_id, int step);
/* clock_run.c: the database's clock is set. */
void sim_check_clock_was_set(void);
/* An order whose statuses this queue did not take is tried again. */
void sim_check_asked_owed(struct mg_slice queue);

#endif
