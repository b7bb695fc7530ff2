/*
 * A world of many orders around the pure core, in simulated time: the next event is the next moment. Orders
 * come at a rate; a scheduler decides them (bare_order.h), agents call, services answer as a profile says
 * (played_service.h), and senders give signals. Backoff, deadlines, undo, verify, polls, waits, lines,
 * breakers, parked steps and sweeps are the real ones. Left out: the time of queues and commits, and the
 * limits of an agent.
 *
 * The same definition, profile and seed give the same counts. Each order has a stream of random numbers of
 * its own, so a setting of one service changes nothing at orders that never meet it.
 */
#ifndef MG_REHEARSE_SIMULATION_H
#define MG_REHEARSE_SIMULATION_H

#include "profile.h"
#include "service/service.h"
#include "tally.h"

/* Orders that are open at one time live in memory. */
#define MG_SIMULATION_MAX_BYTES ((size_t)1024 * 1024 * 1024)

/* `services` has one for each step that calls. The caller frees *ret_tally. MG_TRANSIENT: no memory, or more
 * orders are open at one time than it has room for. */
enum mg_class mg_simulate(const struct mg_profile *profile, const struct mg_service *const *services,
                          struct mg_tally **ret_tally, struct mg_err *err) MG_MUSTCHECK;

#endif
