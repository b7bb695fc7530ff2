/* See handling.h. One lock guards both queues; no handler runs under it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "handling.h"

TAILQ_HEAD(work_list, mg_library_work);

struct mg_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* more work, the end, or a thread that ends */
    struct work_list waiting, done;
    int thread_count, threads_max, idle_count, waiting_count, running_count;
    int wake_fd;
    bool is_closed;
    bool is_left; /* its owner is gone: the last thread frees it */
};

struct mg_pool *mg_pool_create(int threads_max, int wake_fd)
{
    struct mg_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&pool->lock, NULL); /* cannot fail with default attributes */
    (void)pthread_cond_init(&pool->changed, NULL);
    TAILQ_INIT(&pool->waiting);
    TAILQ_INIT(&pool->done);
    pool->threads_max = threads_max;
    pool->wake_fd = wake_fd;
    return pool;
}

static void pool_free(struct mg_pool *pool)
{
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Under the lock. NULL: the pool is closed. */
static struct mg_library_work *next_await(struct mg_pool *pool)
{
    while (!pool->is_closed && TAILQ_EMPTY(&pool->waiting)) {
        pool->idle_count++;
        (void)pthread_cond_wait(&pool->changed, &pool->lock);
        pool->idle_count--;
    }
    struct mg_library_work *work = pool->is_closed ? NULL : TAILQ_FIRST(&pool->waiting);
    if (work != NULL) {
        TAILQ_REMOVE(&pool->waiting, work, entry);
        pool->waiting_count--;
    }
    return work;
}

/* Under the lock. */
static void put_done(struct mg_pool *pool, struct mg_library_work *work)
{
    const uint64_t one = 1;
    if (pool->is_closed) {
        mg_library_work_free(work);
        return;
    }
    TAILQ_INSERT_TAIL(&pool->done, work, entry);
    (void)!write(pool->wake_fd, &one, sizeof(one)); /* fails only if the loop is to wake already */
}

static void *thread_run(void *arg)
{
    struct mg_pool *pool = arg;
    struct mg_library_work *work;
    (void)pthread_mutex_lock(&pool->lock);
    while ((work = next_await(pool)) != NULL) {
        pool->running_count++;
        (void)pthread_mutex_unlock(&pool->lock);
        mg_library_work_do(work);
        (void)pthread_mutex_lock(&pool->lock);
        pool->running_count--;
        put_done(pool, work);
    }
    pool->thread_count--;
    bool is_last = pool->thread_count == 0 && pool->is_left;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
    if (is_last) {
        pool_free(pool);
    }
    return NULL;
}

/* Signals are for the threads of the program. */
static bool thread_start(struct mg_pool *pool)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    bool is_started = pthread_create(&thread, &attributes, thread_run, pool) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attributes);
    return is_started;
}

bool mg_pool_add(struct mg_pool *pool, struct mg_library_work *work)
{
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->idle_count <= pool->waiting_count && pool->thread_count < pool->threads_max) {
        pool->thread_count += thread_start(pool) ? 1 : 0;
    }
    bool is_added = pool->thread_count > 0;
    if (is_added) {
        TAILQ_INSERT_TAIL(&pool->waiting, work, entry);
        pool->waiting_count++;
        (void)pthread_cond_signal(&pool->changed);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return is_added;
}

bool mg_pool_withdraw(struct mg_pool *pool, struct mg_library_work *work)
{
    struct mg_library_work *found;
    (void)pthread_mutex_lock(&pool->lock);
    TAILQ_FOREACH(found, &pool->waiting, entry)
    {
        if (found == work) {
            break;
        }
    }
    if (found != NULL) {
        TAILQ_REMOVE(&pool->waiting, found, entry);
        pool->waiting_count--;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return found != NULL;
}

struct mg_library_work *mg_pool_take_done(struct mg_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    struct mg_library_work *work = TAILQ_FIRST(&pool->done);
    if (work != NULL) {
        TAILQ_REMOVE(&pool->done, work, entry);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return work;
}

int mg_pool_running(struct mg_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    int count = pool->running_count;
    (void)pthread_mutex_unlock(&pool->lock);
    return count;
}

static void list_free(struct work_list *list)
{
    struct mg_library_work *work;
    while ((work = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, work, entry);
        mg_library_work_free(work);
    }
}

void mg_pool_close(struct mg_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_closed = true;
    list_free(&pool->waiting);
    list_free(&pool->done);
    (void)pthread_cond_broadcast(&pool->changed);
    while (pool->thread_count > pool->running_count) {
        (void)pthread_cond_wait(&pool->changed, &pool->lock);
    }
    pool->is_left = pool->thread_count > 0;
    bool is_over = !pool->is_left;
    (void)pthread_mutex_unlock(&pool->lock);
    if (is_over) {
        pool_free(pool);
    }
}
