/*
 * A loop that turns on the test's command, over the clock of fake_clock.h. Kept: timers in the order of their
 * moments, repetitions, idles, the end by mg_loop_stop. Not kept: descriptors, signals and other threads; a
 * callback may not destroy an idle.
 */
#ifndef MG_TESTS_FAKE_LOOP_H
#define MG_TESTS_FAKE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

void fake_loop_reset(void);         /* destroys all timers and idles */
bool fake_loop_turn(void);          /* runs idles that are armed; false: there were none */
void fake_loop_pass(int64_t ms);    /* time passes on the clock; each timer fires at its moment */
void fake_loop_advance(int64_t ms); /* the same for the timers alone, each once, and not on the clock */
int64_t fake_loop_rest_ms(void);    /* until the next timer is due; -1: none is active */
int fake_loop_stops(void);          /* calls of mg_loop_stop since the last reset */

#endif
