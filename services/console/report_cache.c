/*
 * Reports for pages. All requests for the same query share one answer, while it is read and for some time
 * after. The database's load therefore does not grow with the number of viewers. An answer is reused for
 * about a second, or longer, so that reading it takes at most 2 % of the time while that is below 100 ms.
 * Different queries are limited by a rate and by a number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "console/console_parts.h"

#define QUESTIONS_MAX  64             /* under way or kept, at once */
#define KEPT_MAX_BYTES (1024u * 1024) /* a larger answer is not kept */
#define FRESH_MS       900            /* below the 1 s between live events, so no event has old data */
#define REST_FACTOR    50             /* times the duration of the last reading */
#define REST_MAX_MS    5000           /* a page shows no older answer, however slow its reading was */
#define RATE_PER_S     20             /* new queries: some ten busy operators */
#define STATUS_BUSY    429u
#define STATUS_TROUBLE 503u

struct waiter {
    struct waiter *next;
    struct question *question;
    struct mg_http_exchange *request; /* NULL: `done` is called */
    answered_fn *done;
    void *arg;
};

struct ask {
    struct question *question;
    int index;
};

enum question_state { QUESTION_FREE, QUESTION_ASKED, QUESTION_ANSWERED };

struct question {
    struct mg_asker *asker;
    enum question_state state;
    struct mg_query query;
    struct ask asks[MG_REPORTS_MAX];
    struct mg_table tables[MG_REPORTS_MAX];
    int open_count;
    bool is_failed, is_outdated; /* outdated: a change came meanwhile */
    char trouble[MG_ERR_TEXT_MAX];
    int64_t began_ms, fresh_until_ms; /* by the clock since boot */
    unsigned int status;
    struct mg_buf json;
    struct waiter *waiters;
};

struct mg_asker {
    struct mg_console *console;
    struct question questions[QUESTIONS_MAX];
    int64_t rate_at_ms;
    int64_t rate_left; /* thousandths of a query */
};

struct mg_asker *mg_asker_create(struct mg_console *console)
{
    struct mg_asker *asker = calloc(1, sizeof(*asker));
    if (asker == NULL) {
        return NULL;
    }
    asker->console = console;
    asker->rate_left = RATE_PER_S * 1000;
    asker->rate_at_ms = mg_clock_boot_ms();
    for (int i = 0; i < QUESTIONS_MAX; i++) {
        asker->questions[i].asker = asker;
        mg_buf_init(&asker->questions[i].json, MG_ANSWER_MAX_BYTES);
    }
    return asker;
}

static void tables_free(struct question *question)
{
    for (int i = 0; i < MG_REPORTS_MAX; i++) {
        mg_table_free(&question->tables[i]);
    }
}

static void question_free(struct question *question)
{
    tables_free(question);
    mg_buf_finish(&question->json);
    question->state = QUESTION_FREE;
}

void mg_asker_destroy(struct mg_asker *asker)
{
    for (int i = 0; asker != NULL && i < QUESTIONS_MAX; i++) {
        while (asker->questions[i].waiters != NULL) {
            struct waiter *waiter = asker->questions[i].waiters;
            asker->questions[i].waiters = waiter->next;
            free(waiter);
        }
        question_free(&asker->questions[i]);
    }
    free(asker);
}

void mg_asker_forget(struct mg_asker *asker)
{
    for (int i = 0; i < QUESTIONS_MAX; i++) {
        struct question *question = &asker->questions[i];
        question->is_outdated = question->state == QUESTION_ASKED;
        if (question->state == QUESTION_ANSWERED) {
            question_free(question);
        }
    }
}

/* ---- the answer ---- */

static void waiter_answer(struct waiter *waiter, unsigned int status, struct mg_slice json)
{
    if (waiter->request != NULL) {
        mg_answer_json(waiter->request, status, json);
    } else {
        waiter->done(waiter->arg, status, json);
    }
    free(waiter);
}

static void trouble_write(struct question *question, const char *text)
{
    mg_buf_clear(&question->json);
    mg_error_write(&question->json, text);
    question->status = STATUS_TROUBLE;
}

static void question_end(struct question *question)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (question->is_failed) {
        trouble_write(question, question->trouble);
    } else {
        question->status = question->query.render(&question->query, question->tables, &question->json);
        if (question->json.failed) {
            bool is_out_of_memory = question->json.is_out_of_memory;
            mg_buf_finish(&question->json);
            trouble_write(question, is_out_of_memory
                                        ? "no memory for this answer"
                                        : "the answer is too large for a page; use makegood order export");
        }
    }
    tables_free(question);
    int64_t rest_ms = mg_clock_rest_ms(now_ms - question->began_ms, REST_FACTOR, REST_MAX_MS);
    question->fresh_until_ms = now_ms + (rest_ms > FRESH_MS ? rest_ms : FRESH_MS);
    question->state = QUESTION_ANSWERED;
    struct waiter *waiters = question->waiters;
    question->waiters = NULL;
    while (waiters != NULL) {
        struct waiter *waiter = waiters;
        waiters = waiter->next;
        waiter_answer(waiter, question->status, mg_buf_slice(&question->json));
    }
    if (question->is_failed || question->is_outdated || question->json.len > KEPT_MAX_BYTES) {
        question_free(question);
    }
}

static bool rows_keep(struct question *question, int index, const struct mg_rows *rows)
{
    struct mg_table *table = &question->tables[index];
    return mg_table_keep(table, rows, false) && (question->query.asks[index].report != MG_REPORT_CONTROLLED ||
                                                 mg_queues_put(question->asker->console->queues, table));
}

static void on_rows(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct ask *ask = arg;
    struct question *question = ask->question;
    if (err != NULL) {
        question->is_failed = true;
        (void)snprintf(question->trouble, sizeof(question->trouble), "%s", err->text);
    } else if (!rows_keep(question, ask->index, rows)) {
        question->is_failed = true;
        (void)snprintf(question->trouble, sizeof(question->trouble), "no memory for this answer");
    }
    if (--question->open_count == 0) {
        question_end(question);
    }
}

/* ---- the reports ---- */

static void question_ask(struct question *question)
{
    struct mg_store *store = question->asker->console->store;
    question->state = QUESTION_ASKED;
    question->is_failed = question->is_outdated = false;
    question->began_ms = mg_clock_boot_ms();
    question->open_count = question->query.count;
    for (int i = 0; i < question->query.count; i++) {
        const char *params[MG_PARAMS_MAX];
        for (int p = 0; p < MG_PARAMS_MAX; p++) {
            params[p] = question->query.asks[i].params[p];
        }
        question->asks[i] = (struct ask){question, i};
        mg_store_report(store, question->query.asks[i].report, params, question->query.asks[i].param_count,
                        on_rows, &question->asks[i]);
    }
}

static bool is_rate_kept(struct mg_asker *asker)
{
    int64_t now_ms = mg_clock_boot_ms();
    asker->rate_left += (now_ms - asker->rate_at_ms) * RATE_PER_S;
    asker->rate_at_ms = now_ms;
    if (asker->rate_left > RATE_PER_S * 1000) {
        asker->rate_left = RATE_PER_S * 1000;
    }
    if (asker->rate_left < 1000) {
        return false;
    }
    asker->rate_left -= 1000;
    return true;
}

/* The question with this key, or a place for it: a free one, or the oldest answer's. NULL: all are under
 * way. */
static struct question *question_find(struct mg_asker *asker, const char *key)
{
    struct question *place = NULL;
    for (int i = 0; i < QUESTIONS_MAX; i++) {
        struct question *question = &asker->questions[i];
        bool is_usable = question->state == QUESTION_FREE || question->state == QUESTION_ANSWERED;
        if (question->state != QUESTION_FREE && !question->is_outdated &&
            strcmp(question->query.key, key) == 0) {
            return question;
        }
        if (is_usable && (place == NULL || (place->state != QUESTION_FREE &&
                                            (question->state == QUESTION_FREE ||
                                             question->fresh_until_ms < place->fresh_until_ms)))) {
            place = question;
        }
    }
    return place;
}

/* 0: the waiter is or will be answered. Otherwise returns the status of the refusal; the caller keeps the
 * waiter. */
static unsigned int ask(struct mg_asker *asker, const struct mg_query *query, struct waiter *waiter,
                        bool is_limited)
{
    struct question *question = question_find(asker, query->key);
    if (question == NULL) {
        return STATUS_TROUBLE;
    }
    bool is_same = question->state != QUESTION_FREE && strcmp(question->query.key, query->key) == 0;
    if (is_same && question->state == QUESTION_ANSWERED && mg_clock_boot_ms() < question->fresh_until_ms) {
        waiter_answer(waiter, question->status, mg_buf_slice(&question->json));
        return 0;
    }
    if (!is_same || question->state == QUESTION_ANSWERED) {
        if (is_limited && !is_rate_kept(asker)) {
            return STATUS_BUSY;
        }
        question_free(question);
        question->query = *query;
        question_ask(question); /* reports never answer before the return */
    }
    waiter->question = question;
    waiter->next = question->waiters;
    question->waiters = waiter;
    return 0;
}

/* The connection of its request is closed. */
static void on_gone(void *arg)
{
    struct waiter *waiter = arg;
    for (struct waiter **at = &waiter->question->waiters; *at != NULL; at = &(*at)->next) {
        if (*at == waiter) {
            *at = waiter->next;
            free(waiter);
            return;
        }
    }
}

void mg_ask_for_request(struct mg_asker *asker, const struct mg_query *query,
                        struct mg_http_exchange *request)
{
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    unsigned int status = STATUS_TROUBLE;
    if (waiter != NULL) {
        waiter->request = request;
        mg_http_exchange_on_gone(request, on_gone, waiter);
        status = ask(asker, query, waiter, true);
    }
    if (status == STATUS_BUSY) {
        mg_answer_error(request, status, "more than %d different requests a second; try again", RATE_PER_S);
    } else if (status != 0) {
        mg_answer_error(request, status, "%d requests are under way already; try again", QUESTIONS_MAX);
    }
    if (status != 0) {
        free(waiter);
    }
}

bool mg_ask_for_self(struct mg_asker *asker, const struct mg_query *query, answered_fn *done, void *arg)
{
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    if (waiter == NULL) {
        return false;
    }
    waiter->done = done;
    waiter->arg = arg;
    if (ask(asker, query, waiter, false) != 0) {
        free(waiter);
        return false;
    }
    return true;
}
