/*
 * Internals of the simulated server: its sessions and its state. store_server.c runs requests; store_fault.c
 * causes the spontaneous faults.
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
    bool is_silent;                 /* its connection carries nothing, and neither end is informed */
    int64_t arrives_us, answers_us; /* arrival of the last request sent, and of the last answer */
    struct sim_request *first, *last;
    int64_t idle_limit_us, idle_since_us, statement_limit_us;
    bool is_idle_planned;
    const char *reason; /* reason of its end */
};

/* The standby is a second set of tables, which runs the same statements some time later. Statements that it
 * has not run when it takes over are lost. */
struct sim_server {
    struct sim_tables *tables, *standby;      /* standby NULL: no failover in this run */
    struct sim_request *log_first, *log_last; /* committed, and not yet run by the standby */
    struct sim_session *sessions;             /* the newest first; includes ended ones */
    struct sim_session *locked_by;            /* holder of the leaders' lock */
    int session_count;
    bool is_down, is_read_only, went_back_unseen;
    int64_t lags_until_us; /* statements are slow until then */
    bool lags_in_sweeps;   /* only statements of the sweep are slow */
    /* The forward steps of the clock that a leader still compensates, combined into one. The fields are the
     * time of the first, its start, and the end of the last; set_to_ms 0: none. */
    int64_t set_us, set_from_ms, set_to_ms;
    int64_t ahead_ms, stopped_at_ms;        /* of its clock; stopped_at_ms 0: it runs */
    char locked_order[MG_ORDER_ID_MAX + 1]; /* somebody else's session has its rows; "": none */
    bool is_refusing;                       /* every write, whatever it writes */
};
extern struct sim_server sim_server;

/* Ends a session: no more statements run in it. `is_cut`: answers on their way may be lost too. */
void sim_session_end(struct sim_session *session, const char *reason, bool is_cut);
void sim_session_break_silence(struct sim_session *session); /* both ends detect the break */
void sim_session_hurry(struct sim_session *session);         /* a slow request in it completes now */

struct sim_transaction sim_transaction_of(const struct sim_request *request, struct sim_tables *tables,
                                          struct sim_session *session);
/* The standby's log: adds a commit of now; runs the entries that the standby reaches. */
void sim_log_add(struct sim_request *request);
void sim_log_replay(int64_t until_us);
#define SIM_LAG_MAX_US (2 * SIM_SECOND_US) /* the most that a standby may lag behind */

#endif
