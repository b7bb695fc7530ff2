/*
 * A store of orders that answers on the test's command, the oldest call first. Kept: orders, their events and
 * their versions, as PostgreSQL has them (version guard); what is owed; refusals of one order or of all. Not
 * kept: SQL, sessions, leaders, payloads beyond a load, any table but those of orders and one row of each
 * other.
 */
#ifndef MG_TESTS_FAKE_STORE_H
#define MG_TESTS_FAKE_STORE_H

#include "io/store/owed.h"
#include "io/store/schedules.h"
#include "io/store/signal_rows.h"

enum fake_commit {
    FAKE_COMMIT_PLAIN,
    FAKE_COMMIT_UNKNOWN_DONE, /* stored, and the answer is lost */
    FAKE_COMMIT_UNKNOWN_LOST, /* neither stored nor answered */
    FAKE_COMMIT_CONFLICT,     /* another instance was quicker; once */
};
struct fake_store {
    struct mg_store_options options;
    enum fake_commit next_commit; /* of the next commit only */
    int conflicts;                /* on so many further commits another instance is quicker, too */
    const char *poisoned;         /* an order that cannot be stored while its reason holds this text */
    const char *refused_mark;     /* each call with a mark of this order fails; NULL: none does */
    int mark_calls;
    int load_max;            /* a load of more orders than this fails for lack of memory; 0: none does */
    int lost_loads;          /* so many loads more lose their connection */
    const char *unreadable;  /* an order that a newer version wrote */
    bool is_held;            /* commits are not answered until it is false */
    int64_t ahead_ms;        /* of the machine's clock */
    const char *refused;     /* orders, as a pattern, that are refused at each write; NULL: none */
    const char *damaged;     /* an order that cannot be read; NULL: none */
    enum mg_refusal refusal; /* of both */
    const char *sqlstate;    /* of both; NULL: XX001 */
    bool is_refusing;        /* all orders are refused: commits and loads fail */
    const char *refused_too; /* another order like `refused`; NULL: none */
    const char *aside;       /* the order that is set aside; NULL: none */
    struct mg_service_row service;     /* the row of one service; no name: there is none */
    int64_t parked;                    /* steps parked for any queue that is asked about */
    bool is_avoided;                   /* a workflow does without the service that is asked about */
    int parked_counts;                 /* so often they were counted */
    int64_t line_length;               /* of each line that is asked about */
    int line_looks;                    /* so often lengths were asked for */
    const char *turn;                  /* the order that has its turn by the next commit; NULL: none */
    struct mg_line_move last_move;     /* of the last order written */
    bool is_owed_lost;                 /* owed statuses cannot be read */
    bool keeps_nothing;                /* each write succeeds and is discarded */
    const char *workflow, *definition; /* the only one there is; NULL: none */
    int commits, loads, marks, unmarks, alerts, closings, reports; /* alerts: opened; closings: of alerts */
    int owed_loads;       /* an order's owed statuses were read so often */
    uint64_t last_report; /* its sequence */
    char last_calls[1024];
    char last_mark[80];
    uint64_t last_mark_version;
    bool last_mark_is_retry;
    char last_mark_queue[MG_REPLY_TO_MAX + 1];
    struct mg_given_up given_up;         /* reported with the next retry that failed; count 0: nothing is */
    char last_alert[1200];               /* "subject: text" */
    struct mg_slot_row slot_row;         /* of any slot that is read */
    bool is_slot_lost;                   /* slots cannot be read */
    int64_t next_slots[MG_UPCOMING_MAX]; /* the answer to any question for instants */
    int next_slot_count, slot_loads, settled; /* settled: slots without a commit */
    bool is_matched;                          /* a signal is kept for each wait that is over */
    char wait_over[128]; /* the first wait of the last question: order, signal, key, its end */
    int looks;           /* for kept signals */
    /* What the next look finds; NULL: nothing. */
    const char *match_order;
    struct mg_kept_signal match;
    const char
        *lost_key; /* of a signal "approved" with the id "s-1/psp", whose look was lost; NULL: none was */
    bool is_overlap_seen;  /* the order of a slot is open for the slots after it, as its row is read */
    int64_t slot_delay_ms; /* of a slot that waits; 0: none does */
    struct mg_slot_write last_slot; /* settled, or of a commit */
    char last_slot_text[512];
};
extern struct fake_store fake_store;

void fake_store_reset(void);
bool fake_store_answer(void); /* the oldest open call; false: none is open */
const struct mg_order_record *fake_store_order(const char *order_id);        /* NULL: none */
const struct mg_event_record *fake_store_event(const char *order_id, int n); /* NULL: none */
int fake_store_event_count(const char *order_id);
struct mg_order_record *fake_store_record(const char *order_id); /* for the test to change; NULL: none */
void fake_store_owe(const char *order_id);                       /* the statuses of its first event */
/* As another instance would: raises the version and touches nothing else. */
void fake_store_bump(const char *order_id);

#endif
