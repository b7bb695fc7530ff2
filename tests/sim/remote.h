/*
 * The remote services, behind io/http/client.h, and the ledger of what they really did.
 *
 *   stock   knows a key again; forgets one that was undone and would do it again: only Makegood's own care
 *           (quiesce, generations) keeps an undo or a verify from being overtaken
 *   bank    knows a key again, also one that was undone: what comes late then is refused
 *   post    knows nothing again: every call acts
 *   yard    as stock, but says 202, begins after a while and then works for a while; it remembers an undo
 *           only against what nobody could know of
 *
 * They act when they like, whoever still listens: before the answer is lost or after it was given up, in any
 * order; but no later than complete-by and quiesce, except for the bank.
 *
 * All but post give the same key the same answer, a refusal too: else a copy of a request that was delivered
 * again could act after the first one's refusal was taken for the step's end.
 */
#ifndef SIM_REMOTE_H
#define SIM_REMOTE_H

#include "table.h"

enum sim_remote { SIM_STOCK, SIM_BANK, SIM_POST, SIM_YARD, SIM_REMOTE_COUNT };

/* All that was ever asked about one do's key. */
struct sim_work {
    enum sim_remote service;
    char order_id[72], step[72];
    uint64_t number;    /* in the answer: the result that later steps refer to */
    uint64_t body_hash; /* of the do; the same key must always carry the same */
    bool has_body;
    int acted;          /* how often it took effect anew */
    int undone;         /* how often an effect was taken back */
    bool is_effective;  /* net: it stands */
    bool is_refused;    /* a do of it was refused before any took effect: it stays refused */
    bool is_undo_asked; /* an undo has come, before the do or after */
    bool is_queued;     /* yard: accepted, and not begun */
    int pending;        /* dos that have been sent and have not come to an end */
    uint32_t absent_by; /* the attempt of the last verify that found nothing; 0: none did */
    int64_t done_at_us; /* yard: when the work is done; 0: not begun */
};

void sim_remote_start(void);
void sim_remote_heal(void);
const struct sim_table *sim_ledger(void); /* by the do's key: struct sim_work */

#endif
