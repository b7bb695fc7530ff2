/*
 * Services that misbehave, in rough runs: they do not recognise a key or forget it, lose a number that they
 * have given, and refuse or lose an undo. Before all of them stands an ingress that answers with pages.
 */
#include <stdio.h>

#include "nodes.h"
#include "remote.h"

#define KEY_MIN_US     500000
#define KEY_MAX_US     20000000
#define UNDO_MIN_US    100000
#define UNDO_MAX_US    12000000
#define LOST_NUMBER_IN 2 /* of the last polls of pier */
#define UNDO_FATES     8
#define PAGE           "<!DOCTYPE html><html><body>ingress</body></html>"

bool sim_is_key_known(const struct sim_work *work)
{
    bool is_there = work->is_effective || work->is_queued || work->is_declined;
    bool is_forgotten = work->service == SIM_INN && sim_now_us() >= work->known_until_us;
    return is_there && !is_forgotten && work->service != SIM_POST && work->service != SIM_MINT;
}

bool sim_keeps_refusals(enum sim_remote service)
{
    return service != SIM_POST && service != SIM_MINT && service != SIM_INN;
}

void sim_key_note(struct sim_work *work)
{
    work->known_until_us =
        work->service == SIM_INN ? sim_now_us() + sim_draw_between(KEY_MIN_US, KEY_MAX_US) : 0;
}

static void on_forget(void *arg)
{
    (void)arg;
    sim_happened(SIM_ROUGH_FORGETS);
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        ((struct sim_work *)sim_ledger()->entries[i]->value)->known_until_us = 0;
    }
}

bool sim_loses_number(const struct sim_work *work)
{
    return work->service == SIM_PIER && !sim_is_at_work(work) && sim_draw(LOST_NUMBER_IN) == 0;
}

/* ---- undos ---- */

void sim_take_back(struct sim_work *work)
{
    work->undone += work->standing;
    work->standing = 0;
    work->is_effective = false;
}

static void on_undone(void *arg)
{
    struct sim_work *work = arg;
    work->undo = work->is_undo_to_fail ? SIM_UNDO_REFUSED : SIM_UNDO_NONE;
    if (!work->is_undo_to_fail) {
        sim_take_back(work);
    }
    sim_trace("fund: the undo of step %s of %s is over", work->step, work->order_id);
}

/* One in eight is refused at once, one later, one is lost and stays in hand for ever, and two are done at
 * once. A refusal is of this call: the next one may go well. */
static void undo_draw(struct sim_work *work)
{
    uint64_t fate = sim_draw(UNDO_FATES);
    work->undo = fate == 0 ? SIM_UNDO_REFUSED : fate <= 5 ? SIM_UNDO_IN_HAND : SIM_UNDO_NONE;
    work->is_undo_to_fail = fate == 1;
    work->is_undo_lost = fate == 2;
    if (work->undo == SIM_UNDO_NONE) {
        sim_take_back(work);
    } else if (work->undo == SIM_UNDO_IN_HAND && !work->is_undo_lost) {
        sim_after(NULL, sim_draw_between(UNDO_MIN_US, UNDO_MAX_US), on_undone, work);
    }
}

static int undo_answer(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE])
{
    const char *state = !work->is_effective              ? "undone"
                        : work->undo == SIM_UNDO_REFUSED ? "refused"
                                                         : "in_hand";
    (void)snprintf(ret_body, SIM_ANSWER_SIZE, "{\"state\":\"%s\"}", state);
    return work->is_effective && work->undo == SIM_UNDO_IN_HAND && sim_draw(2) == 0 ? 202 : 200;
}

int sim_fund_undo(struct sim_work *work, char ret_body[SIM_ANSWER_SIZE])
{
    if (work->is_effective && work->undo != SIM_UNDO_IN_HAND) {
        undo_draw(work);
    }
    return work->acted > 0 ? undo_answer(work, ret_body) : 404;
}

int sim_fund_ask(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE])
{
    bool is_there = work->is_undo_asked && (work->undone > 0 || work->undo != SIM_UNDO_NONE);
    return is_there ? undo_answer(work, ret_body) : 404;
}

bool sim_repair(struct sim_work *work)
{
    bool is_endless = work->undo == SIM_UNDO_IN_HAND && work->is_undo_lost;
    if (work->pending > 0 || (work->undo == SIM_UNDO_IN_HAND && !is_endless)) {
        return false;
    }
    work->undo = SIM_UNDO_NONE;
    work->is_undo_asked = true;
    sim_take_back(work);
    return true;
}

/* ---- the ingress ---- */

int sim_page_draw(bool has_acted, bool is_do, char ret_body[SIM_ANSWER_SIZE])
{
    static const int BEFORE[] = {200, 502, 503, 404}, BEHIND[] = {200, 502, 504};
    if (!sim_is_rough_run() || !sim_happens(SIM_ROUGH_INGRESS)) {
        return 0;
    }
    (void)snprintf(ret_body, SIM_ANSWER_SIZE, PAGE);
    /* A 404 to a do is a refusal, which stands for all copies: remote.c draws it. */
    return has_acted ? BEHIND[sim_draw(3)] : BEFORE[sim_draw(is_do ? 3 : 4)];
}

void sim_rough_start(void)
{
    if (sim_is_rough_run()) {
        sim_every(SIM_ROUGH_FORGETS, on_forget);
    }
}
