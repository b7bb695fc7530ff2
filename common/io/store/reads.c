/*
 * Whether reports are answered. One that fails again and again, without a success between, is that of a table
 * that another session locks, or of a server that refuses the statement. Reads lock no rows, so one refusal
 * by a lock time-out is the fault of the table, and one for a missing right that of the role: it is repeated
 * at each probe until it succeeds, for nobody asks a process that is not ready. Any other failure counts once
 * requests for different things have it; it is not repeated, and is forgotten when no request has it any
 * more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/store/store_private.h"

#define LOCK_NOT_AVAILABLE "55P03"
#define NO_RIGHT           "42501"
#define FRESH_MS           10000 /* of the last failure; above the time of a repetition that waits for a lock */

static bool is_proved(const struct mg_reads *reads)
{
    return reads->is_of_store || reads->is_of_many;
}

static void forget(struct mg_reads *reads)
{
    free(reads->params);
    reads->params = NULL;
    reads->since_boot_ms = 0;
    reads->is_of_store = reads->is_of_many = false;
}

static void begin(struct mg_reads *reads, enum mg_report report, struct mg_slice params, int count)
{
    forget(reads);
    reads->report = report;
    reads->since_boot_ms = mg_clock_boot_ms();
    reads->params = malloc(params.len + 1); /* NULL: it is not repeated */
    reads->params_size = params.len;
    reads->param_count = count;
    if (reads->params != NULL) {
        memcpy(reads->params, params.data, params.len);
    }
}

void mg_reads_note(struct mg_store *store, enum mg_report report, const char *name, struct mg_slice params,
                   int count, const struct mg_pg_answer *answer)
{
    struct mg_reads *reads = &store->reads;
    bool is_known = reads->since_boot_ms != 0 && mg_clock_boot_ms() - reads->failed_boot_ms < FRESH_MS;
    bool is_same = is_known && reads->report == report;
    bool is_of_store =
        strcmp(answer->sqlstate, LOCK_NOT_AVAILABLE) == 0 || strcmp(answer->sqlstate, NO_RIGHT) == 0;
    if (answer->err == NULL) {
        if (reads->since_boot_ms != 0 && reads->report == report) {
            forget(reads);
        }
        return;
    }
    if (answer->fault == MG_PG_LOST || (is_known && !is_same && (is_proved(reads) || !is_of_store))) {
        return;
    }
    if (!is_same) {
        begin(reads, report, params, count);
        reads->name = name;
    }
    reads->is_of_store = reads->is_of_store || is_of_store;
    reads->is_of_many = reads->is_of_many || reads->params == NULL || reads->params_size != params.len ||
                        memcmp(reads->params, params.data, params.len) != 0;
    reads->failed_boot_ms = mg_clock_boot_ms();
    (void)snprintf(reads->text, sizeof(reads->text), "%s", answer->err->text);
}

int64_t mg_store_reads_fail_ms(const struct mg_store *store, char *ret_reason, size_t size)
{
    const struct mg_reads *reads = &store->reads;
    int64_t now_ms = mg_clock_boot_ms(), for_ms = now_ms - reads->since_boot_ms;
    if (reads->since_boot_ms == 0 || !is_proved(reads) || for_ms < MG_READS_FAIL_MS ||
        now_ms - reads->failed_boot_ms >= FRESH_MS) {
        return 0;
    }
    (void)snprintf(ret_reason, size, "the database has refused each %s for %lld s: %s", reads->name,
                   (long long)(for_ms / 1000), reads->text);
    return for_ms;
}

void mg_reads_look(struct mg_store *store)
{
    struct mg_reads *reads = &store->reads;
    char reason[MG_ERR_TEXT_MAX] = "";
    int64_t fail_ms = mg_store_reads_fail_ms(store, reason, sizeof(reason));
    if (reads->seconds != NULL) {
        mg_metric_set(reads->seconds, (double)fail_ms / 1000);
    }
    if ((fail_ms > 0) != reads->is_logged) {
        reads->is_logged = fail_ms > 0;
        mg_log(MG_LOG_WARN,
               fail_ms > 0 ? "reads of the database fail" : "reads of the database succeed again",
               MG_LOG_TEXT("why", reason));
    }
}

bool mg_reads_must_repeat(const struct mg_store *store)
{
    const struct mg_reads *reads = &store->reads;
    return reads->since_boot_ms != 0 && reads->is_of_store && reads->params != NULL && !reads->is_repeating;
}

void mg_reads_create(struct mg_store *store)
{
    if (store->options.is_reader && store->options.metrics != NULL) {
        store->reads.seconds =
            mg_metrics_series(store->options.metrics, MG_GAUGE, "makegood_standstill_seconds", "",
                              "time without an end of work while work waits; 0: it moves");
    }
}

void mg_reads_finish(struct mg_store *store)
{
    forget(&store->reads);
}
