/*
 * See pass_by.h.
 *
 *   all ── fails ──▶ keys ──▶ among none ── fails ──▶ it is no order's fault
 *                                │ passes
 *                                ▼
 *                             among all keys, its halves, theirs … ──▶ orders that it is refused for
 *                                │
 *                                ▼
 *                             all, without them
 *
 * A trial is rolled back, whatever its end, because its answer is not given to the caller. Trials wait for
 * locks only shortly.
 */
#include "io/store/pass_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* The tries of one search, in halves of halves: a few orders among a thousand. The next failure finds further
 * ones. */
#define TRIALS_MAX 128
/* So many orders refused, and none let through between: the cause is not theirs. */
#define REFUSED_IN_ROW_MAX 8
/* After a search in vain: a cause of all orders may last. */
#define SEARCH_REST_MS (10 * 1000)
/* One half waits while the other is halved: far more orders than any limit has. */
#define RANGES_MAX 32
/* An order that was only locked returns soon; a damaged one costs six trials an hour. */
#define PAUSE_FIRST_MS (10 * 1000)
#define PAUSE_MAX_MS   (10 * 60 * 1000)

/* clang-format off */
static const struct mg_sql TRIAL_LIMITS = {
    "trial_limits",
    "SELECT set_config('lock_timeout', '100ms', true), set_config('statement_timeout', '2s', true)"};
const struct mg_sql MG_STORE_ROLL_BACK = {"roll_back", "SELECT $1::text::bigint"};
/* clang-format on */
/* The longest is a service with one of its agents. */
#define KEY_SIZE       (MG_NAME_MAX + 1 + 127 + 1)
#define ROLL_BACK_TEXT "this trial passed; it is rolled back"

struct mg_passed {
    const struct mg_many_sql *many;
    char key[KEY_SIZE];
    char why[160]; /* the beginning of the error's text */
    int64_t pause_ms, until_boot_ms;
    bool is_tried; /* alone, now */
    bool is_told;  /* in the log */
};

struct range {
    int first, count;
};

struct many_job {
    struct mg_store_job base;
    const struct mg_many_sql *many;
    struct mg_pg_params params; /* its own; after them the list of orders, made for each call */
    int param_count;
    mg_pg_fn *fn;
    void *arg;
    bool is_retry; /* of one passed order, alone */
    /* The search. */
    char (*keys)[KEY_SIZE];
    int trial_count, refused_in_row;
    struct range ranges[RANGES_MAX];
    int range_count;
    /* The first failure, for a caller whose statement cannot be helped. */
    enum mg_pg_fault fault;
    char sqlstate[6];
    struct mg_err err;
};

static void finish_many(struct mg_store_job *base)
{
    struct many_job *job = (struct many_job *)base;
    mg_pg_params_finish(&job->params);
    free(job->keys);
}

static void answer_give(struct many_job *job, const struct mg_pg_answer *answer)
{
    mg_store_job_detach(&job->base);
    job->fn(job->arg, answer);
    mg_store_job_destroy(&job->base);
}

static void failure_give(struct many_job *job)
{
    struct mg_pg_answer answer = {.fault = job->fault, .sqlstate = job->sqlstate, .err = &job->err};
    answer_give(job, &answer);
}

/* ---- the list ---- */

static struct mg_passed *passed_find(const struct mg_store *store, const char *key)
{
    for (int i = 0; i < store->passed_count; i++) {
        if (strcmp(store->passed[i].key, key) == 0) {
            return &store->passed[i];
        }
    }
    return NULL;
}

static void passed_lengthen(struct mg_passed *passed)
{
    passed->pause_ms = passed->pause_ms < PAUSE_MAX_MS / 2 ? passed->pause_ms * 2 : PAUSE_MAX_MS;
    passed->until_boot_ms = mg_clock_boot_ms() + passed->pause_ms;
}

/* False: no room, or no memory. */
static bool passed_add(struct mg_store *store, const struct mg_many_sql *many, const char *key,
                       const char *why)
{
    struct mg_passed *known = passed_find(store, key);
    if (known != NULL) { /* it was let in again */
        passed_lengthen(known);
        return true;
    }
    if (store->passed == NULL) {
        store->passed = calloc(MG_PASSED_MAX, sizeof(*store->passed));
    }
    if (store->passed == NULL || store->passed_count == MG_PASSED_MAX) {
        return false;
    }
    struct mg_passed *passed = &store->passed[store->passed_count++];
    *passed = (struct mg_passed){
        .many = many, .pause_ms = PAUSE_FIRST_MS, .until_boot_ms = mg_clock_boot_ms() + PAUSE_FIRST_MS};
    (void)snprintf(passed->key, sizeof(passed->key), "%s", key);
    (void)snprintf(passed->why, sizeof(passed->why), "%.150s", why);
    return true;
}

static const char *log_field(const struct mg_many_sql *many)
{
    return many->is_given ? "row" : "order_id";
}

static void passed_log(struct mg_store *store)
{
    for (int i = 0; i < store->passed_count; i++) {
        struct mg_passed *passed = &store->passed[i];
        if (!passed->is_told) {
            passed->is_told = true;
            mg_log(MG_LOG_WARN, "the database refuses one of many rows: it is passed by, the others go on",
                   MG_LOG_TEXT(log_field(passed->many), passed->key),
                   MG_LOG_TEXT("statement", passed->many->all.name), MG_LOG_TEXT("reason", passed->why));
        }
    }
}

/* A given row is let in when its pause is over; any other is first tried alone. */
static bool is_left_out(const struct mg_passed *passed)
{
    return !passed->many->is_given || mg_clock_boot_ms() < passed->until_boot_ms;
}

int mg_store_passed_rows(const struct mg_store *store, struct mg_passed_row *ret_rows, int max)
{
    int count = 0;
    for (int i = 0; i < store->passed_count; i++) {
        const struct mg_passed *passed = &store->passed[i];
        if (is_left_out(passed) && count++ < max) {
            ret_rows[count - 1] =
                (struct mg_passed_row){passed->many->noun, passed->key, passed->many->verb, passed->why};
        }
    }
    return count;
}

/* ---- one call ---- */

/* The job's parameters, and after them an array to be filled with keys. */
static int keys_begin(struct many_job *job)
{
    struct mg_pg_params *params = &job->params;
    if (params->count > job->param_count) {
        mg_buf_finish(&params->items[--params->count].bytes);
    }
    return mg_pg_add_array(params, MG_PG_TEXT);
}

static struct mg_pg_params *left_out_fill(struct many_job *job)
{
    const struct mg_store *store = job->base.store;
    int keys = keys_begin(job);
    for (int i = 0; i < store->passed_count; i++) {
        if (is_left_out(&store->passed[i])) {
            mg_pg_push_text(&job->params, keys, mg_slice_of(store->passed[i].key));
        }
    }
    return &job->params;
}

static struct mg_pg_params *range_fill(struct many_job *job, const struct range *range)
{
    int keys = keys_begin(job);
    for (int i = 0; i < range->count; i++) {
        mg_pg_push_text(&job->params, keys, mg_slice_of(job->keys[range->first + i]));
    }
    return &job->params;
}

static void all_send(struct many_job *job, mg_pg_fn *fn)
{
    struct mg_store *store = job->base.store;
    const struct mg_many_sql *many = job->many;
    struct mg_pg_statement statements[] = {{many->before, NULL}, {&many->all, left_out_fill(job)}};
    int skipped = many->before == NULL;
    mg_store_send(store, statements + skipped, 2 - skipped, fn, job);
}

static void on_tried(void *arg, const struct mg_pg_answer *answer);

static void trial_send(struct many_job *job, const struct range *range)
{
    const struct mg_many_sql *many = job->many;
    struct mg_pg_params last;
    mg_pg_params_init(&last);
    mg_pg_add_text(&last, mg_slice_of(ROLL_BACK_TEXT));
    struct mg_pg_statement statements[4] = {{&TRIAL_LIMITS, NULL}};
    int count = 1;
    if (many->before != NULL) {
        statements[count++] = (struct mg_pg_statement){many->before, NULL};
    }
    statements[count++] = (struct mg_pg_statement){&many->among, range_fill(job, range)};
    statements[count++] = (struct mg_pg_statement){&MG_STORE_ROLL_BACK, &last};
    job->trial_count++;
    mg_store_send(job->base.store, statements, count, on_tried, job);
    mg_pg_params_finish(&last);
}

/* The statement of a trial has passed if only the one after it has failed. */
static bool is_passed(const struct many_job *job, const struct mg_pg_answer *answer)
{
    return answer->rows[job->many->before == NULL ? 1 : 2] != NULL;
}

/* Without an SQLSTATE, or with a lost session, nothing was judged. */
static bool is_judged(const struct mg_pg_answer *answer)
{
    return answer->fault != MG_PG_LOST && answer->sqlstate[0] != '\0';
}

/* ---- the search ---- */

static void on_sent_again(void *arg, const struct mg_pg_answer *answer)
{
    answer_give(arg, answer);
}

static void search_end(struct many_job *job, bool is_given_up)
{
    struct mg_store *store = job->base.store;
    while (is_given_up && store->passed_count > 0 && !store->passed[store->passed_count - 1].is_told) {
        store->passed_count--;
    }
    passed_log(store);
    if (is_given_up) {
        store->search_after_boot_ms = mg_clock_boot_ms() + SEARCH_REST_MS;
        failure_give(job);
    } else {
        all_send(job, on_sent_again);
    }
}

static void search_continue(struct many_job *job)
{
    if (job->refused_in_row >= REFUSED_IN_ROW_MAX) {
        search_end(job, true);
    } else if (job->range_count == 0 || job->trial_count >= TRIALS_MAX) {
        search_end(job, false);
    } else {
        trial_send(job, &job->ranges[job->range_count - 1]);
    }
}

/* False: it cannot be divided or remembered. */
static bool range_divide(struct many_job *job, const struct mg_pg_answer *answer)
{
    struct range range = job->ranges[--job->range_count];
    if (range.count > 1 && job->range_count + 2 <= RANGES_MAX) {
        int half = range.count / 2;
        job->ranges[job->range_count++] = (struct range){range.first + half, range.count - half};
        job->ranges[job->range_count++] = (struct range){range.first, half};
        return true;
    }
    job->refused_in_row++;
    return range.count == 1 &&
           passed_add(job->base.store, job->many, job->keys[range.first], answer->err->text);
}

/* ---- a passed order, alone ---- */

static void retry_end(struct many_job *job, const struct mg_pg_answer *answer)
{
    struct mg_store *store = job->base.store;
    struct mg_passed *passed = passed_find(store, job->keys[0]);
    if (passed != NULL && is_passed(job, answer)) {
        mg_log(MG_LOG_INFO, "the database takes a row again that it had refused",
               MG_LOG_TEXT(log_field(job->many), passed->key), MG_LOG_TEXT("statement", job->many->all.name));
        *passed = store->passed[--store->passed_count];
    } else if (passed != NULL) {
        passed->is_tried = false;
        passed_lengthen(passed);
        if (is_judged(answer)) {
            (void)snprintf(passed->why, sizeof(passed->why), "%.150s", answer->err->text);
        }
    }
    mg_store_job_detach(&job->base);
    mg_store_job_destroy(&job->base);
}

static void on_tried(void *arg, const struct mg_pg_answer *answer)
{
    struct many_job *job = arg;
    bool has_passed = is_passed(job, answer);
    if (job->is_retry) {
        retry_end(job, answer);
    } else if (!has_passed && !is_judged(answer)) {
        search_end(job, true);
    } else if (has_passed) {
        job->range_count--;
        job->refused_in_row = 0;
        search_continue(job);
    } else if (range_divide(job, answer)) {
        search_continue(job);
    } else {
        search_end(job, true);
    }
}

/* The first trial is that of no order: a failure even then is no order's fault. */
static void on_keys(void *arg, const struct mg_pg_answer *answer)
{
    struct many_job *job = arg;
    int count = answer->err == NULL ? mg_rows_count(answer->rows[0]) : 0;
    job->keys = count > 0 ? calloc((size_t)count, sizeof(*job->keys)) : NULL;
    if (job->keys == NULL) {
        failure_give(job);
        return;
    }
    for (int row = 0; row < count; row++) {
        mg_rows_copy(answer->rows[0], row, 0, job->keys[row], sizeof(job->keys[row]));
    }
    job->ranges[job->range_count++] = (struct range){0, count};
    job->ranges[job->range_count++] = (struct range){0, 0};
    search_continue(job);
}

static void on_sent(void *arg, const struct mg_pg_answer *answer)
{
    struct many_job *job = arg;
    bool is_resting = mg_clock_boot_ms() < job->base.store->search_after_boot_ms;
    bool is_givers = job->many->is_given && answer->fault == MG_PG_DATA;
    if (answer->err == NULL || !is_judged(answer) || is_resting || is_givers) {
        answer_give(job, answer);
        return;
    }
    job->fault = answer->fault;
    job->err = *answer->err;
    (void)snprintf(job->sqlstate, sizeof(job->sqlstate), "%s", answer->sqlstate);
    struct mg_pg_statement statement = {&job->many->keys, left_out_fill(job)};
    mg_store_send(job->base.store, &statement, 1, on_keys, job);
}

/* ---- sending ---- */

static struct many_job *job_create(struct mg_store *store, const struct mg_many_sql *many,
                                   struct mg_pg_params *params)
{
    struct many_job *job = mg_store_job_create(store, sizeof(*job), NULL, NULL, finish_many);
    job->many = many;
    job->params = *params;
    job->param_count = params->count;
    return job;
}

/* One order of this statement whose pause is over; NULL: none. */
static struct mg_passed *passed_due(const struct mg_store *store, const struct mg_many_sql *many)
{
    for (int i = 0; i < store->passed_count; i++) {
        struct mg_passed *passed = &store->passed[i];
        if (passed->many == many && !many->is_given && !passed->is_tried &&
            mg_clock_boot_ms() >= passed->until_boot_ms) {
            return passed;
        }
    }
    return NULL;
}

/* A given row that was let in for as long as the longest pause has been taken, or came no more. */
static void passed_forget(struct mg_store *store)
{
    for (int i = store->passed_count - 1; i >= 0; i--) {
        const struct mg_passed *passed = &store->passed[i];
        if (passed->many->is_given && mg_clock_boot_ms() - passed->until_boot_ms > PAUSE_MAX_MS) {
            store->passed[i] = store->passed[--store->passed_count];
        }
    }
}

static void retry_send(struct mg_store *store, struct mg_passed *passed, const struct mg_pg_params *params)
{
    struct mg_pg_params own;
    if (!mg_pg_params_copy(params, &own)) {
        return;
    }
    struct many_job *job = job_create(store, passed->many, &own);
    job->is_retry = true;
    job->keys = calloc(1, sizeof(*job->keys));
    if (job->keys == NULL) {
        mg_store_job_detach(&job->base);
        mg_store_job_destroy(&job->base);
        return;
    }
    memcpy(job->keys[0], passed->key, sizeof(job->keys[0]));
    passed->is_tried = true;
    trial_send(job, &(struct range){0, 1});
}

void mg_store_send_many(struct mg_store *store, const struct mg_many_sql *many, struct mg_pg_params *params,
                        mg_pg_fn *fn, void *arg)
{
    passed_forget(store);
    struct mg_passed *passed = passed_due(store, many);
    if (passed != NULL) {
        retry_send(store, passed, params);
    }
    struct many_job *job = job_create(store, many, params);
    job->fn = fn;
    job->arg = arg;
    all_send(job, on_sent);
}
