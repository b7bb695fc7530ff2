/*
 * Whether the database answers and has room, probed regularly, since an idle session detects neither. The
 * probe spills some rows to a temporary file, so a full disk refuses it (53100). It needs no right and leaves
 * nothing. It waits behind all earlier calls of the session: without an answer the whole session is stuck.
 */
#include <stdio.h>

#include "base/clock.h"
#include "io/store/private.h"

#define ANSWER_MAX_MS 3000 /* statements take milliseconds, and a lock time-out 2 s */
#define FULL_MS       5000 /* after a refusal; above the period of the probes */

/* The least memory that PostgreSQL grants; the rows need a few times that. */
/* clang-format off */
static const struct mg_sql SHRINK = {"probe_memory", "SELECT set_config('work_mem', '64kB', true)"};
static const struct mg_sql SPILL = {
    "probe_room",
    "WITH spilled AS MATERIALIZED (SELECT repeat('x', 1000) AS row FROM generate_series(1, 200))"
    " SELECT sum(length(row)) FROM spilled"};
/* clang-format on */

static void on_probed(void *arg, const struct mg_err *err)
{
    struct mg_store *store = arg;
    (void)err; /* on_full records a full disk for all calls; other refusals do not matter here */
    store->probed_boot_ms = 0;
}

void mg_store_probe(struct mg_store *store)
{
    if (store->state == MG_STORE_UP) {
        mg_reads_look(store);
    }
    if (store->state != MG_STORE_UP || store->probed_boot_ms != 0) {
        return;
    }
    const struct mg_pg_statement statements[] = {{&SHRINK, NULL}, {&SPILL, NULL}};
    struct mg_store_done_job *job = mg_store_done_job_create(store, on_probed, store);
    store->probed_boot_ms = mg_clock_boot_ms();
    mg_store_send(store, statements, 2, mg_store_done_job_answer, job);
}

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
