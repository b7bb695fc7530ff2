/*
 * The store's life: a session is begun, set up and checked before it is used. The checks run at every
 * connect, because after a failover it may be another server with another configuration.
 *
 * A server that answers but must not be used (no durability, encoding, search_path, unknown schema) is
 * reported to on_refused and checked again regularly. A server that does not answer is reported to on_state;
 * the session retries with backoff.
 */
#include "io/pg/dsn.h"
#include "io/store/store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/store/sql.h"

/* Period of the checks of a refused server, for callers that keep running. */
#define RECHECK_MS    5000
#define ANSWER_MAX_MS 3000 /* statements take milliseconds, and a lock time-out 2 s */
#define FULL_MS       5000 /* after a refusal; above the period of the probes */

/*
 * Limits of this session, all below the watchdog of pg.c (15 s). A stopped leader must lose its lock, hence
 * the idle time-out ($1); $2 bounds one statement. A plan that reads a whole table is never right for these
 * statements, and statistics of young tables mislead the planner. So sequential scans are left to queries
 * without another plan. Settings are used because a pooler would refuse start-up options.
 */
/* clang-format off */
static const struct mg_sql SET_UP_SESSION = {
    "",
    "SELECT set_config('statement_timeout', $2::text, false), set_config('lock_timeout', '2s', false),"
    " set_config('idle_in_transaction_session_timeout', '5s', false),"
    " set_config('idle_session_timeout', $1::text, false),"
    " set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),"
    " set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('bytea_output', 'hex', false), set_config('timezone', 'UTC', false),"
    " set_config('jit', 'off', false), set_config('enable_seqscan', 'off', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false)"};
/* clang-format on */

/* clang-format off */
static const struct mg_sql CHECK_SERVER = {
    "",
    "SELECT current_setting('fsync'), current_setting('synchronous_commit'),"
    " current_setting('full_page_writes'),"
    " to_regclass('makegood_migration') IS NOT NULL, " MG_SQL_UNFIT ", " MG_SQL_PART_standby
    " FROM (SELECT current_setting('synchronous_standby_names') AS names) s"};
/* clang-format on */
enum {
    CHECK_FSYNC,
    CHECK_SYNCHRONOUS_COMMIT,
    CHECK_FULL_PAGE_WRITES,
    CHECK_HAS_SCHEMA,
    CHECK_UNFIT,
    CHECK_STANDBY
};

/* clang-format off */
static const struct mg_sql CHECK_SCHEMA = {
    "",
    "SELECT coalesce(max(version), 0), coalesce(max(serves_from), 0), " MG_SQL_MS("statement_timestamp()")
    " FROM makegood_migration"};
/* clang-format on */

static void on_session(void *arg);
static void on_session_lost(void *arg, const char *reason);
static void on_denied(void *arg, const char *reason);
bool mg_store_is_well(const struct mg_store *store, char *ret_reason, size_t size)
{
    int64_t now_ms = mg_clock_boot_ms();
    int64_t silent_ms = store->probed_boot_ms == 0 ? 0 : now_ms - store->probed_boot_ms;
    bool is_silent = silent_ms > ANSWER_MAX_MS;
    bool is_full = store->full_boot_ms != 0 && now_ms - store->full_boot_ms < FULL_MS;
    if (is_silent) {
        (void)snprintf(ret_reason, size, "the database has given no answer for %lld s%s%s",
                       (long long)(silent_ms / 1000), store->standby[0] != '\0' ? ": " : "", store->standby);
    } else if (is_full) {
        (void)snprintf(ret_reason, size, "the database has no room: its disk is full");
    }
    return !is_silent && !is_full;
}

static void on_full(void *arg);
static void on_unreached(void *arg, enum mg_reach reach);

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store, struct mg_err *err)
{
    enum mg_class class = mg_dsn_check(options->dsn, options->is_plaintext_allowed, err);
    if (class != MG_OK) {
        return class;
    }
    struct mg_store *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not make a store: no memory");
    }
    store->loop = loop;
    store->options = *options;
    store->options.dsn = store->options.name = NULL; /* the session has copies; these may be freed */
    if (store->options.statement_timeout == NULL) {
        store->options.statement_timeout = "10s";
    }
    snprintf(store->reason, sizeof(store->reason), "not yet connected");
    store->recheck = mg_timer_create(loop, on_session, store);
    if (store->recheck == NULL) {
        mg_store_destroy(store);
        return mg_err_set(err, MG_TRANSIENT, "could not make a store: no memory");
    }
    struct mg_pg_options pg_options = {
        .dsn = options->dsn,
        .name = options->name,
        .metrics = options->metrics,
        .on_connected = on_session,
        .on_denied = on_denied,
        .on_full = on_full,
        .on_unreached = on_unreached,
        .on_lost = on_session_lost,
        .arg = store,
    };
    class = mg_pg_create(loop, &pg_options, &store->pg, err);
    if (class != MG_OK) {
        mg_store_destroy(store);
        return class;
    }
    mg_reads_create(store);
    *ret_store = store;
    return MG_OK;
}

void mg_store_destroy(struct mg_store *store)
{
    if (store == NULL) {
        return;
    }
    mg_pg_destroy(store->pg);
    mg_timer_destroy(store->recheck);
    while (!LIST_EMPTY(&store->jobs)) {
        struct mg_store_job *job = LIST_FIRST(&store->jobs);
        mg_store_job_detach(job);
        mg_store_job_destroy(job);
    }
    mg_reads_finish(store);
    free(store->passed);
    free(store);
}

enum mg_class mg_store_set_dsn(struct mg_store *store, const char *dsn, struct mg_err *err)
{
    enum mg_class class = mg_dsn_check(dsn, store->options.is_plaintext_allowed, err);
    return class == MG_OK ? mg_pg_set_dsn(store->pg, dsn, err) : class;
}

bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size)
{
    bool is_up = store->state == MG_STORE_UP;
    if (size > 0) {
        snprintf(ret_reason, size, "%s", is_up ? "" : store->reason);
    }
    return is_up;
}

const char *mg_store_standby(const struct mg_store *store)
{
    return store->standby;
}

int64_t mg_store_clock_ms(const struct mg_store *store, int64_t *ret_asked_boot_ms)
{
    *ret_asked_boot_ms = store->clock_asked_boot_ms;
    return store->clock_ms;
}

enum mg_reach mg_store_reach(const struct mg_store *store)
{
    return store->reach;
}

bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size)
{
    if (!mg_store_is_up(store, ret_reason, size)) {
        return false;
    }
    if (size > 0) {
        (void)snprintf(ret_reason, size, "%s", store->denied);
    }
    return store->denied[0] == '\0';
}

static void on_denied(void *arg, const char *reason)
{
    struct mg_store *store = arg;
    (void)snprintf(store->denied, sizeof(store->denied), "%s", reason == NULL ? "" : reason);
    if (reason != NULL) {
        mg_log(MG_LOG_WARN, "the database denies a permission that this service needs",
               MG_LOG_TEXT("reason", reason));
    } else {
        mg_log(MG_LOG_INFO, "the database grants the permissions of this service again", MG_LOG_NONE);
    }
}

static void on_full(void *arg)
{
    struct mg_store *store = arg;
    char reason[MG_ERR_TEXT_MAX];
    bool is_news = mg_store_is_well(store, reason, sizeof(reason));
    store->full_boot_ms = mg_clock_boot_ms();
    if (is_news) {
        mg_log(MG_LOG_WARN, "the database's disk is full: writes that need space fail", MG_LOG_NONE);
    }
}

/* ---- connecting and checking ---- */

static void set_state(struct mg_store *store, bool is_up, const char *reason)
{
    int state = is_up ? MG_STORE_UP : MG_STORE_DOWN;
    bool is_other = store->reach == MG_REACH_REFUSED && strcmp(store->reason, reason) != 0;
    bool is_news = (int)store->state != state || (!is_up && is_other);
    snprintf(store->reason, sizeof(store->reason), "%s", reason);
    if (!is_news) {
        return;
    }
    store->state = is_up ? MG_STORE_UP : MG_STORE_DOWN;
    if (store->options.on_state != NULL) {
        store->options.on_state(store->options.arg, is_up, reason);
    }
}

static void on_unreached(void *arg, enum mg_reach reach)
{
    ((struct mg_store *)arg)->reach = reach;
}

static void on_session_lost(void *arg, const char *reason)
{
    struct mg_store *store = arg;
    mg_timer_stop(store->recheck);
    store->lead_epoch = 0;
    store->losses++;
    set_state(store, false, reason);
}

/* Call it last: the callbacks may destroy the store. */
static void refuse(struct mg_store *store, const char *reason)
{
    mg_timer_start(store->recheck, RECHECK_MS, 0);
    bool is_news = strcmp(store->refused, reason) != 0;
    snprintf(store->refused, sizeof(store->refused), "%s", reason);
    if (is_news && store->options.on_refused != NULL) {
        snprintf(store->reason, sizeof(store->reason), "%s", reason);
        store->options.on_refused(store->options.arg, reason);
        return;
    }
    set_state(store, false, reason);
}

static void accept(struct mg_store *store)
{
    store->refused[0] = '\0';
    set_state(store, true, "");
}

bool mg_schema_serves(int64_t version, int64_t serves_from, char *ret_reason, size_t size)
{
    if (version < MG_SCHEMA_VERSION) {
        snprintf(ret_reason, size,
                 "the database's schema is version %lld and this program needs version %d: run `makegood db "
                 "migrate`",
                 (long long)version, MG_SCHEMA_VERSION);
        return false;
    }
    if (serves_from > MG_SCHEMA_VERSION) {
        snprintf(
            ret_reason, size,
            "the database's schema is version %lld, which serves programs from version %lld on, and this "
            "program is of version %d: use a newer program",
            (long long)version, (long long)serves_from, MG_SCHEMA_VERSION);
        return false;
    }
    snprintf(ret_reason, size,
             "version %lld serves programs from version %lld on; this program is of version %d",
             (long long)version, (long long)serves_from, MG_SCHEMA_VERSION);
    return true;
}

static void on_schema_checked(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store *store = arg;
    if (answer->err != NULL) {
        mg_pg_drop(store->pg, answer->err->text);
        return;
    }
    const struct mg_rows *rows = answer->rows[0];
    char reason[320];
    store->clock_ms = mg_rows_int(rows, 0, 2);
    if (mg_schema_serves(mg_rows_int(rows, 0, 0), mg_rows_int(rows, 0, 1), reason, sizeof(reason))) {
        accept(store);
    } else {
        refuse(store, reason);
    }
}

static bool is_off(const struct mg_rows *rows, int column)
{
    return mg_slice_is(mg_rows_value(rows, 0, column), "off");
}

static void on_server_checked(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store *store = arg;
    if (answer->err != NULL) {
        mg_pg_drop(store->pg, answer->err->text);
        return;
    }
    const struct mg_rows *rows = answer->rows[1];
    const char *unsafe = is_off(rows, CHECK_FSYNC)                ? "fsync"
                         : is_off(rows, CHECK_SYNCHRONOUS_COMMIT) ? "synchronous_commit"
                         : is_off(rows, CHECK_FULL_PAGE_WRITES)   ? "full_page_writes"
                                                                  : NULL;
    char reason[320];
    mg_rows_copy(rows, 0, CHECK_UNFIT, reason, sizeof(reason));
    mg_rows_copy(rows, 0, CHECK_STANDBY, store->standby, sizeof(store->standby));
    if (store->standby[0] != '\0') {
        mg_log(MG_LOG_WARN, "the database commits nothing", MG_LOG_TEXT("why", store->standby));
    }
    if (unsafe != NULL && !store->options.is_unsafe_durability_allowed) {
        snprintf(reason, sizeof(reason),
                 "the database may lose committed orders: %s is off; turn it on (or, where orders may be "
                 "lost, allow it with --unsafe-durability)",
                 unsafe);
        refuse(store, reason);
    } else if (store->options.skips_schema_check) {
        accept(store);
    } else if (reason[0] != '\0') {
        refuse(store, reason);
    } else if (!mg_rows_bool(rows, 0, CHECK_HAS_SCHEMA)) {
        (void)mg_schema_serves(0, 0, reason, sizeof(reason));
        refuse(store, reason);
    } else {
        struct mg_pg_statement statement = {.sql = &CHECK_SCHEMA};
        store->clock_asked_boot_ms = mg_clock_boot_ms();
        mg_pg_send(store->pg, &statement, 1, on_schema_checked, store);
    }
}

static void on_session(void *arg)
{
    struct mg_store *store = arg;
    store->reach = MG_REACH_UNKNOWN;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(store->options.is_leader_session ? "10s" : "0"));
    mg_pg_add_text(&params, mg_slice_of(store->options.statement_timeout));
    struct mg_pg_statement statements[] = {{&SET_UP_SESSION, &params}, {&CHECK_SERVER, NULL}};
    mg_pg_send(store->pg, statements, 2, on_server_checked, store);
    mg_pg_params_finish(&params);
}

/* ---- jobs ---- */

void *mg_store_job_create(struct mg_store *store, size_t size, mg_pg_fn *answered, void *arg,
                          void (*finish)(struct mg_store_job *job))
{
    struct mg_store_job *job = calloc(1, size);
    if (job == NULL) {
        mg_log(MG_LOG_ERROR, "no memory for a call of the store", MG_LOG_NONE);
        abort();
    }
    job->store = store;
    job->answered = answered;
    job->arg = arg;
    job->finish = finish;
    LIST_INSERT_HEAD(&store->jobs, job, entry);
    return job;
}

void mg_store_job_detach(struct mg_store_job *job)
{
    LIST_REMOVE(job, entry);
    job->store = NULL;
}

void mg_store_job_destroy(struct mg_store_job *job)
{
    if (job->finish != NULL) {
        job->finish(job);
    }
    free(job);
}

void mg_store_job_answer(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store_job *job = arg;
    LIST_REMOVE(job, entry);
    job->answered(job, answer);
    mg_store_job_destroy(job);
}

void mg_store_send(struct mg_store *store, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                   void *arg)
{
    if (store->state == MG_STORE_UP) {
        mg_pg_send(store->pg, statements, count, fn, arg);
        return;
    }
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the database cannot be used now: %s", store->reason);
    mg_pg_refuse(store->pg, MG_PG_LOST, err.text, fn, arg);
}

void mg_store_send_one(struct mg_store *store, const struct mg_sql *sql, struct mg_pg_params *params,
                       mg_pg_fn *fn, void *arg)
{
    struct mg_pg_statement statement = {sql, params};
    mg_store_send(store, &statement, 1, fn, arg);
    if (params != NULL) {
        mg_pg_params_finish(params);
    }
}

struct mg_store_done_job *mg_store_done_job_create(struct mg_store *store, mg_store_done_fn *done, void *arg)
{
    struct mg_store_done_job *job = mg_store_job_create(store, sizeof(*job), NULL, arg, NULL);
    job->done = done;
    return job;
}

void mg_store_done_job_answer(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store_done_job *job = arg;
    mg_store_job_detach(&job->base);
    struct mg_err err;
    job->done(job->base.arg,
              answer->err == NULL ? NULL : mg_store_error(answer, "write to the database", &err));
    mg_store_job_destroy(&job->base);
}

const struct mg_err *mg_store_error(const struct mg_pg_answer *answer, const char *what,
                                    struct mg_err *ret_err)
{
    *ret_err = *answer->err;
    (void)mg_err_prefix(ret_err, "could not %s", what);
    return ret_err;
}
