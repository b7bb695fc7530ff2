/*
 * The remote services, behind io/http/client.h, and the ledger of their effects.
 *
 *   stock   recognises a key; forgets it after the undo and would do it again: only Makegood's own care
 *           (quiesce, generations) prevents that an undo or a verify is overtaken
 *   bank    recognises a key, also after the undo: it refuses a late do
 *   post    recognises no key: every call has an effect
 *   yard    as stock, but answers 202, begins after a while and then works for a while; it remembers an undo
 *           only against copies that no process can detect
 *   clerk   as yard, but the body says how far the work is, and the status is 200 or 202 meanwhile; some work
 *           is refused in the end and has no effect then, and some answers do not say
 *
 * In rough runs (rough.c) there are also
 *
 *   mint    recognises no key: each do has an effect, and an undo takes back all of them
 *   inn     recognises a key for a while, and not after its own restart; the rest as mint
 *   pier    as yard, but its answer to the last poll may lack the number
 *   fund    as stock, but it may refuse an undo, at once or later, or lose it, and reports it by its body
 *
 * They act at any time, whether or not a caller still waits: before the answer is lost, after it was given
 * up, in any order. All but the bank act no later than complete-by and quiesce.
 *
 * Till, desk, dock and deed are undone by the number in the answer, and by nothing else. The number of a deed
 * may be missing while its work goes on, and in answers that do not give its state.
 *
 * All but post repeat their answer to the same key, also a refusal. Otherwise a redelivered copy of a request
 * could act after the first copy's refusal had ended the step.
 *
 * Before all of them stands a gateway. It refuses a do without a look at its key, so also one that has acted.
 */
#ifndef SIM_REMOTE_H
#define SIM_REMOTE_H

#include "table.h"

enum sim_remote {
    SIM_STOCK,
    SIM_BANK,
    SIM_POST,
    SIM_YARD,
    SIM_CLERK,
    SIM_MINT, /* from here on only in rough runs */
    SIM_INN,
    SIM_PIER,
    SIM_FUND,
    SIM_REMOTE_COUNT
};

enum sim_undo { SIM_UNDO_NONE, SIM_UNDO_IN_HAND, SIM_UNDO_REFUSED };

/* Of all statuses that the services give each has its own bit. */
#define SIM_ANSWER_BIT(status) ((status) % 64)

/* All calls with one do's key. */
struct sim_work {
    enum sim_remote service;
    char order_id[72], step[72];
    uint64_t number;       /* in the answer: later steps refer to this result */
    uint64_t answers;      /* bits: what a do or a verify of it was answered */
    uint64_t undo_answers; /* the same of its undo */
    uint64_t body_hash;    /* of the do; every call with the key must have the same */
    bool has_body;
    int acted;              /* number of new effects */
    int undone;             /* number of effects taken back */
    bool is_late;           /* bank: it acted beyond its time; no second do has an effect there */
    int standing;           /* number of effects that stand: more than one without a recognised key */
    bool is_effective;      /* one stands */
    int refused;            /* status of a do that was refused before any took effect: it stays; 0: none */
    bool is_undo_asked;     /* an undo has arrived, before or after the do */
    bool is_queued;         /* yard, clerk, pier: accepted, and not begun */
    bool is_to_decline;     /* clerk: it will be refused, drawn with the work */
    bool is_declined;       /* it was begun, and is refused once the work ends */
    int pending;            /* dos that were sent and have not ended */
    uint32_t absent_by;     /* attempt of the last verify that found nothing; 0: none */
    int64_t done_at_us;     /* yard, clerk, pier: when the work ends; 0: not begun */
    int64_t known_until_us; /* inn: the key */
    enum sim_undo undo;     /* fund */
    bool is_undo_lost;      /* the undo in hand never ends */
    bool is_undo_to_fail;   /* the undo in hand ends as refused */
};

void sim_remote_start(void);
void sim_remote_heal(void);
const struct sim_table *sim_ledger(void); /* by the do's key: struct sim_work */

/* answers.c: how far the work of yard and clerk is, and the bodies of answers. */
#define SIM_ANSWER_SIZE 96
bool sim_is_at_work(const struct sim_work *work);
/* The number in an answer's body; absent: there is none. */
struct mg_slice sim_answer_number(struct mg_slice body);
/* The work as its service reports it. */
void sim_answer_write(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE]);
/* The same, as an answer to a call: now and then it does not say how far the work is. */
void sim_answer_draw(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE]);
/* The time that a new work takes before it begins and after, and its outcome. */
int64_t sim_work_begins_in_us(const struct sim_work *work);
int64_t sim_work_takes_us(const struct sim_work *work);
void sim_work_draw(struct sim_work *work);

/* rough.c */
void sim_rough_start(void);
bool sim_is_key_known(const struct sim_work *work); /* a do with it does nothing new */
void sim_key_note(struct sim_work *work);           /* a do has acted */
bool sim_keeps_refusals(enum sim_remote service);
bool sim_loses_number(const struct sim_work *work); /* in the answer to this verify */
void sim_take_back(struct sim_work *work);          /* all effects of the key */
bool sim_repair(struct sim_work *work);             /* a person does so; false: it is not the moment for it */
/* An undo of fund, and the verify of one: the status of the answer. */
int sim_fund_undo(struct sim_work *work, char ret_body[SIM_ANSWER_SIZE]);
int sim_fund_ask(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE]);
/* The status of an ingress's page, or 0: the service itself answers. */
int sim_page_draw(bool has_acted, bool is_do, char ret_body[SIM_ANSWER_SIZE]);

#endif
