/*
 * The simulated server inside: its sessions and what they stand on.
 * store_server.c runs what is sent, and store_fault.c lets go wrong what comes
 * by itself.
 */
#ifndef SIM_STORE_SERVER_H
#define SIM_STORE_SERVER_H

#include "store_tables.h"

#define SIM_SECOND_US INT64_C(1000000)

struct sim_session {
    struct sim_session *next;
    struct mg_pg *pg; /* NULL: the client is gone */
    struct sim_node *node;
    int pid;
    bool is_up, is_ended;
    bool is_silent;                 /* its line carries nothing, and nobody is told */
    int64_t arrives_us, answers_us; /* when what was last sent, and what was last
                                       answered, comes in */
    struct sim_request *first, *last;
    int64_t idle_limit_us, idle_since_us, statement_limit_us;
    bool is_idle_planned;
    const char *reason; /* why it has ended */
};

/* The standby is a second set of tables, which runs the same statements some
 * time later: what it has not yet run when it takes over is lost. */
struct sim_server {
    struct sim_tables *tables, *standby;      /* standby NULL: no failover in this run */
    struct sim_request *log_first, *log_last; /* committed, and not yet run by the standby */
    struct sim_session *sessions;             /* the newest first; those that have ended are left */
    struct sim_session *locked_by;            /* the leaders' lock */
    int session_count;
    bool is_down, is_read_only, went_back_unseen;
    int64_t lags_until_us; /* statements take long until then */
    bool lags_in_sweeps;   /* but only those of the sweep */
    /* The steps forward of its clock that a leader still makes up for, as one: when the first was, from
     * where, and up to where the last went; set_to_ms 0: there was none. */
    int64_t set_us, set_from_ms, set_to_ms;
    int64_t ahead_ms, stopped_at_ms; /* of its clock; stopped_at_ms 0: it runs */
};
extern struct sim_server sim_server;

/* Nothing more is run in it. `is_cut`: answers that are on their way may be
 * lost, too. */
void sim_session_end(struct sim_session *session, const char *reason, bool is_cut);
void sim_session_break_silence(struct sim_session *session); /* both sides hear that the line is broken */
void sim_session_hurry(struct sim_session *session); /* what it runs is done now, however slow it was */

struct sim_transaction sim_transaction_of(const struct sim_request *request, struct sim_tables *tables,
                                          struct sim_session *session);
/* The standby's log: what has been committed now; and what the standby runs of
 * it. */
void sim_log_add(struct sim_request *request);
void sim_log_replay(int64_t until_us);
#define SIM_LAG_MAX_US (2 * SIM_SECOND_US) /* what a standby may lack */

#endif
