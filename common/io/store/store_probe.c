/*
 * Whether the database answers and has room, probed regularly, since an idle session detects neither. The
 * probe spills some rows to a temporary file, so a full disk refuses it (53100). It needs no right and leaves
 * nothing. It waits behind all earlier calls of the session: without an answer the whole session is stuck.
 * Its answer has the server's clock, for processes without other questions.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "io/store/store_private.h"

#define PARAMS_MAX 16 /* of a report */

/* The least memory that PostgreSQL grants; the rows need a few times that. */
/* clang-format off */
static const struct mg_sql SHRINK = {"probe_memory", "SELECT set_config('work_mem', '64kB', true)"};
static const struct mg_sql SPILL = {
    "probe_room",
    "WITH spilled AS MATERIALIZED (SELECT repeat('x', 1000) AS row FROM generate_series(1, 200))"
    " SELECT sum(length(row)), " MG_SQL_MS(MG_SQL_NOW) " FROM spilled"};
/* clang-format on */

static void on_repeated(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    (void)rows;
    (void)err; /* mg_reads_note has it */
    ((struct mg_store *)arg)->reads.is_repeating = false;
}

static void report_repeat(struct mg_store *store)
{
    struct mg_reads *reads = &store->reads;
    const char *params[PARAMS_MAX], *next = reads->params;
    assert(reads->param_count <= PARAMS_MAX);
    for (int i = 0; i < reads->param_count; i++) {
        params[i] = next;
        next += strlen(next) + 1;
    }
    reads->is_repeating = true;
    mg_store_report(store, reads->report, params, reads->param_count, on_repeated, store);
}

static void on_probed(void *arg, const struct mg_err *err)
{
    struct mg_store *store = arg;
    (void)err; /* on_full records a full disk for all calls; other refusals do not matter here */
    store->probed_boot_ms = 0;
}

static void on_answered(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store_done_job *job = arg;
    if (answer->err == NULL) {
        job->base.store->clock_ms = mg_rows_int(answer->rows[1], 0, 1);
        job->base.store->clock_asked_boot_ms = job->base.store->probed_boot_ms;
    }
    mg_store_done_job_answer(job, answer);
}

void mg_store_probe(struct mg_store *store)
{
    if (store->state == MG_STORE_UP) {
        mg_reads_look(store);
        if (mg_reads_must_repeat(store)) {
            report_repeat(store);
        }
    }
    if (store->state != MG_STORE_UP || store->probed_boot_ms != 0) {
        return;
    }
    const struct mg_pg_statement statements[] = {{&SHRINK, NULL}, {&SPILL, NULL}};
    struct mg_store_done_job *job = mg_store_done_job_create(store, on_probed, store);
    store->probed_boot_ms = mg_clock_boot_ms();
    mg_store_send(store, statements, 2, on_answered, job);
}
