/*
 * The world around one supervisor, over the fakes of clock, loop, log, broker and reports. The store's
 * questions stay open until the test answers them. The database's clock is the boot clock plus an offset,
 * which a test may let jump.
 */
#ifndef MG_TESTS_SUPERVISOR_WORLD_H
#define MG_TESTS_SUPERVISOR_WORLD_H

#include "fake_broker.h"
#include "fake_clock.h"
#include "fake_log.h"
#include "fake_loop.h"
#include "fake_report.h"
#include "io/store/owed.h"
#include "io/store/schedules.h"
#include "io/store/signal_rows.h"
#include "supervisor.h"
#include "wire/alert.h"
#include "wire/command.h"
#include "wire/service_control.h"

#define FAKE_CASTS_MAX 8
#define FAKE_KEPT_MAX  64
#define FAKE_ROOMS_MAX (MG_SUPERVISOR_PARKED_MAX + 8)
#define FAKE_COLUMNS   12                     /* of the widest report */
#define FAKE_NOW_MS    INT64_C(1750000000000) /* the database's clock when a test begins */

struct fake_world {
    int64_t database_ahead_ms; /* of the boot clock */

    bool is_store_up;
    bool is_trying, is_sweep_open, is_wake_open, is_write_open, is_resigning; /* open questions */
    bool is_counting_away, is_retire_open, is_parked_open, is_owed_open, is_slots_open;
    int passed_orders;
    int slot_asks;
    int tries, sweeps, wakes, owed_asks, writes, resigned, kept, counts, retires;
    int bite;                      /* of the last retire */
    struct mg_sweep_options asked; /* by the last sweep */
    int parked_asks;
    struct mg_parked_room rooms[FAKE_ROOMS_MAX]; /* of the last of them */
    int room_count;
    struct mg_parked_place after; /* likewise */
    int64_t asked_boot_ms;        /* and when; the database looks at its clock then */
    struct mg_ask_owed owed_asked;
    struct mg_alert_write alerts[MG_WATCHED_COUNT + MG_SUPERVISOR_UNNEEDED_MAX];
    char alert_texts[MG_WATCHED_COUNT + MG_SUPERVISOR_UNNEEDED_MAX][256];
    int alert_count;
    bool is_open[MG_WATCHED_COUNT]; /* alerts that stand open in the table, by the order of enum mg_watched */

    /* Operator settings and agents' reports, as rows of the report; answered at once, or after so long. */
    const char *const (*wanted)[FAKE_COLUMNS];
    int wanted_count;
    bool is_wanted_unreadable;
    /* Services with an alert that no order needs; answered at once. */
    const char *const (*unneeded)[FAKE_COLUMNS];
    int unneeded_count;
    const char *const (*processes)[FAKE_COLUMNS]; /* their heartbeats */
    int process_count;
    const char *const (*waiting)[FAKE_COLUMNS]; /* orders that wait for the database */
    int waiting_count;
    const char *const (*turns)[FAKE_COLUMNS]; /* of orders in line that have not taken theirs */
    int turn_count;
    const char *const (*lines)[FAKE_COLUMNS]; /* the row of figures; NULL: none */
    bool is_lines_unreadable;
    struct mg_kept_figures kept_signals; /* the answer to each look */
    bool is_forget_failing;
    int forgets;
    bool is_minute_failing;
    int minute_counts;
    bool is_unneeded_unreadable;
    int64_t wanted_takes_ms;

    struct mg_service_control casts[FAKE_CASTS_MAX];
    int cast_count;
    enum mg_publish_outcome outcome; /* of each publish */
    struct mg_command commands[FAKE_KEPT_MAX];
    int command_count;
    struct mg_alert_message alerts_sent[FAKE_KEPT_MAX];
    int alerts_sent_count;
};
extern struct fake_world fake;

/* A supervisor with the default options; `fake_finish` frees it. */
struct mg_supervisor *fake_start(void);
void fake_finish(void);
struct mg_supervisor *fake_supervisor(void);

void fake_pass(int64_t ms); /* in steps of at most 50 ms; timers fire at the end of each */
int64_t fake_database_ms(void);

void fake_answer_lead(bool is_leader, int64_t swept_ago_ms); /* swept_ago_ms -1: no sweep yet */
void fake_answer_lead_refused(const char *refusal);
/* Another session has the lock, and nothing leads by it. */
void fake_answer_lead_held(const char *held_by);
void fake_answer_sweep(const struct mg_due *dues, int count);
void fake_answer_sweep_full(const struct mg_due *dues, int count, int64_t overdue_total);
void fake_answer_sweep_fenced(void);
void fake_answer_sweep_failed(void);
/* The queues that have parked steps, and the steps to ask about. */
void fake_answer_parked(const struct mg_parked_queue *queues, int queue_count, const struct mg_due *dues,
                        int due_count);
void fake_answer_parked_failed(void);
void fake_answer_parked_fenced(void);
void fake_answer_slots(const struct mg_due_slot *slots, int count);
void fake_answer_owed(const struct mg_due *dues, int count);
void fake_answer_owed_failed(void);
void fake_answer_wake(bool is_leader, bool is_full);
void fake_answer_wake_failed(void);
void fake_answer_write(void);
void fake_answer_resigned(void);
void fake_answer_count(const char *const (*cells)[FAKE_COLUMNS], int count);
void fake_answer_count_failed(void);
void fake_answer_retire(const struct mg_retire_answer *answer);
void fake_answer_retire_failed(void);
/* Passes time; every question is answered with nothing due. */
void fake_pass_quietly(int64_t ms);
/* Takes the lead, with the first sweep under way. */
void fake_lead(int64_t swept_ago_ms);

#endif
