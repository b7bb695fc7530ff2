/* Runs a loop that the test stops, and no longer than a patience. */
#ifndef MG_TEST_PATIENCE_H
#define MG_TEST_PATIENCE_H

#include <check.h>

#include "base/loop.h"

struct patience {
    const char *(*describe)(void); /* the text of all that came; may be NULL */
};

static inline void patience_end(void *arg)
{
    const struct patience *patience = arg;
    ck_abort_msg("the loop was not stopped in time; so far: %s",
                 patience->describe != NULL ? patience->describe() : "-");
}

/* A test that should have stopped the loop and has not fails by this instead of hanging. */
static inline void loop_run(struct mg_loop *loop, int64_t patience_ms, const char *(*describe)(void))
{
    struct patience patience = {.describe = describe};
    struct mg_timer *timer = mg_timer_create(loop, patience_end, &patience);
    ck_assert_ptr_nonnull(timer);
    mg_timer_start(timer, patience_ms, 0);
    mg_loop_run(loop);
    mg_timer_destroy(timer);
}

#endif
