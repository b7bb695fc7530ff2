/* The parts of the library's agent: works on their way between the loop and the threads of the handlers. */
#ifndef MG_LIBRARY_HANDLING_H
#define MG_LIBRARY_HANDLING_H

#include <sys/queue.h>

#include "library_private.h"
#include "makegood.h"
#include "serving/agent.h"

/* One try of a request. A handler's thread owns it from mg_pool_add until it is done. */
struct mg_library_work {
    struct mg_work shown; /* first: handlers have a pointer to it */
    TAILQ_ENTRY(mg_library_work) entry;
    struct mg_job *job; /* only for the loop's thread; NULL: given up */
    mg_work_fn *handler;
    void *arg;
    struct mg_arena *arena; /* of its texts */
    int64_t until_boot_ms;
    struct mg_json_limits limits; /* of a result */
    size_t result_max_bytes;
    bool is_answered, is_result_cut;
    struct mg_slice result; /* in the arena; absent if none */
    struct mg_verdict_of_try verdict;
};

/* Copies what the handler needs: the job may end before it. NULL: no memory. */
struct mg_library_work *mg_library_work_create(struct mg_job *job, mg_work_fn *handler, void *arg);
void mg_library_work_free(struct mg_library_work *work);
/* Runs the handler. Then the work has a verdict. */
void mg_library_work_do(struct mg_library_work *work);

/* Threads for handlers: made when they are needed, as many as `threads_max`. */
struct mg_pool;
struct mg_pool *mg_pool_create(int threads_max, int wake_fd); /* NULL: no memory */
/* False: there is no thread, and none can be made. */
bool mg_pool_add(struct mg_pool *pool, struct mg_library_work *work);
/* True: the work has not begun, and is the caller's again. */
bool mg_pool_withdraw(struct mg_pool *pool, struct mg_library_work *work);
/* A work that is done, and now the caller's; NULL: none. A byte in `wake_fd` announces each. */
struct mg_library_work *mg_pool_take_done(struct mg_pool *pool);
int mg_pool_running(struct mg_pool *pool);
/* Waits for idle threads. Those with a handler end when it returns, and leave nothing behind. */
void mg_pool_close(struct mg_pool *pool); /* accepts NULL */

#endif
