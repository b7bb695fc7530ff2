/* A loop that turns on the test's command, and its own time. Only the functions that scheduler and agent use.
 */
#ifndef MG_TESTS_FAKE_LOOP_H
#define MG_TESTS_FAKE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

void fake_loop_reset(void);
bool fake_loop_turn(void);          /* runs idles that are armed; false: there were none */
void fake_loop_advance(int64_t ms); /* fires timers that are due, each once */
int64_t fake_loop_rest_ms(void);    /* until the next timer is due; -1: none is active */
bool fake_loop_is_stopped(void);    /* since the last reset, by mg_loop_stop */

#endif
