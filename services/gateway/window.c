/* See window.h. */
#include "gateway/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "core/backoff.h"
#include "wire/webhook.h"

/* ---- the memory of taken statuses: sets of places, of which a new order takes the one least lately used
 * ---- */

#define SETS       2048u /* with their places 256 KiB; an order that is forgotten gets its statuses once more */
#define PLACES     4
#define DIGEST_LEN 16 /* collisions are out of reach */

struct place {
    uint8_t order[DIGEST_LEN];
    int64_t seq;
    uint64_t used; /* number of the last use; 0: free */
};

struct refusal {
    char id[MG_UUID_SIZE]; /* of the status, as in its webhook-id; "": free */
    int64_t first_ms, last_ms;
};

struct mg_window_memory {
    struct place sets[SETS][PLACES];
    uint64_t uses;
    struct refusal refusals[MG_WINDOW_REFUSALS_MAX];
};

static struct place *set_of(struct mg_window_memory *memory, const char *order_id,
                            uint8_t ret_order[MG_SHA256_SIZE])
{
    mg_sha256(mg_slice_of(order_id), ret_order);
    return memory->sets[((size_t)ret_order[DIGEST_LEN] << 8 | ret_order[DIGEST_LEN + 1]) % SETS];
}

static bool is_of(const struct place *place, const uint8_t *order)
{
    return place->used != 0 && memcmp(place->order, order, DIGEST_LEN) == 0;
}

int64_t mg_window_last(const struct mg_window *window, const char *order_id)
{
    uint8_t order[MG_SHA256_SIZE];
    const struct place *set = set_of(window->memory, order_id, order);
    for (int i = 0; i < PLACES; i++) {
        if (is_of(&set[i], order)) {
            return set[i].seq;
        }
    }
    return -1;
}

void mg_window_note(struct mg_window *window, const char *order_id, int64_t seq)
{
    uint8_t order[MG_SHA256_SIZE];
    struct place *set = set_of(window->memory, order_id, order), *chosen = &set[0];
    for (int i = 0; i < PLACES; i++) {
        if (is_of(&set[i], order)) {
            chosen = &set[i];
            break;
        }
        chosen = set[i].used < chosen->used ? &set[i] : chosen;
    }
    memcpy(chosen->order, order, DIGEST_LEN);
    chosen->seq = seq;
    chosen->used = ++window->memory->uses;
}

/* ---- the memory of refused statuses ---- */

/* The status's entry, else the one to be replaced: a free one, or that of the longest time without a refusal.
 */
static struct refusal *refusal_of(struct mg_window *window, const char *id)
{
    struct refusal *all = window->memory->refusals, *oldest = &all[0];
    for (int i = 0; i < MG_WINDOW_REFUSALS_MAX; i++) {
        if (strcmp(all[i].id, id) == 0) {
            return &all[i];
        }
        oldest = all[i].last_ms < oldest->last_ms ? &all[i] : oldest;
    }
    return oldest;
}

static void refusals_forget(struct mg_window *window)
{
    memset(window->memory->refusals, 0, sizeof(window->memory->refusals));
}

bool mg_window_refused(struct mg_window *window, const struct mg_window_status *status, int64_t now_ms)
{
    char id[MG_UUID_SIZE];
    mg_webhook_id(&status->identity, status->body, id);
    struct refusal *refusal = refusal_of(window, id);
    if (strcmp(refusal->id, id) != 0) {
        (void)snprintf(refusal->id, sizeof(refusal->id), "%s", id);
        refusal->first_ms = now_ms;
    }
    refusal->last_ms = now_ms;
    return now_ms - refusal->first_ms >= MG_WINDOW_GIVE_UP_MS &&
           now_ms - window->taken_at_ms <= MG_WINDOW_TAKES_MS;
}

void mg_window_settle(struct mg_window *window, const struct mg_window_status *status)
{
    char id[MG_UUID_SIZE];
    int64_t seq = (int64_t)status->identity.seq;
    mg_webhook_id(&status->identity, status->body, id);
    struct refusal *refusal = refusal_of(window, id);
    if (strcmp(refusal->id, id) == 0) {
        *refusal = (struct refusal){.id = ""};
    }
    if (seq > 0 && seq > mg_window_last(window, status->identity.order_id)) {
        mg_window_note(window, status->identity.order_id, seq);
    }
}

/* ---- lines ---- */

bool mg_window_init(struct mg_window *window)
{
    *window = (struct mg_window){.memory = calloc(1, sizeof(*window->memory)), .calls = MG_WINDOW_CALLS};
    TAILQ_INIT(&window->lines);
    return window->memory != NULL;
}

void mg_window_finish(struct mg_window *window)
{
    free(window->memory);
    window->memory = NULL;
}

static struct mg_window_line *line_of(struct mg_window *window, const char *order_id)
{
    struct mg_window_line *line;
    TAILQ_FOREACH(line, &window->lines, entry)
    {
        if (strcmp(line->order_id, order_id) == 0) {
            return line;
        }
    }
    line = calloc(1, sizeof(*line));
    if (line != NULL) {
        (void)snprintf(line->order_id, sizeof(line->order_id), "%s", order_id);
        TAILQ_INIT(&line->statuses);
        TAILQ_INSERT_TAIL(&window->lines, line, entry);
    }
    return line;
}

struct mg_window_line *mg_window_add(struct mg_window *window, struct mg_window_status *status)
{
    struct mg_window_line *line = line_of(window, status->identity.order_id);
    if (line == NULL) {
        return NULL;
    }
    struct mg_window_status *before = TAILQ_LAST(&line->statuses, mg_window_queue);
    while (before != NULL && before->identity.seq > status->identity.seq) {
        before = TAILQ_PREV(before, mg_window_queue, entry);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&line->statuses, before, status, entry);
    } else {
        TAILQ_INSERT_HEAD(&line->statuses, status, entry);
    }
    return line;
}

/* The first line that may go; `*ret_at_ms`: the earliest moment of one that waits, INT64_MAX: none does. */
static struct mg_window_line *line_due(struct mg_window *window, int64_t now_ms, int64_t *ret_at_ms)
{
    struct mg_window_line *line;
    *ret_at_ms = INT64_MAX;
    TAILQ_FOREACH(line, &window->lines, entry)
    {
        if (!line->is_busy && line->retry_at_ms <= now_ms) {
            return line;
        }
        if (!line->is_busy && line->retry_at_ms < *ret_at_ms) {
            *ret_at_ms = line->retry_at_ms;
        }
    }
    return NULL;
}

struct mg_window_line *mg_window_next(struct mg_window *window, int64_t now_ms, int64_t *ret_wait_ms)
{
    int64_t at_ms;
    *ret_wait_ms = -1;
    if (window->busy_count >= (window->is_down ? 1 : window->calls)) {
        return NULL; /* an answer comes first */
    }
    struct mg_window_line *line = line_due(window, now_ms, &at_ms);
    if (window->is_down && window->retry_at_ms > now_ms && (line != NULL || at_ms < window->retry_at_ms)) {
        at_ms = window->retry_at_ms;
        line = NULL;
    }
    if (line == NULL) {
        *ret_wait_ms = at_ms != INT64_MAX ? at_ms - now_ms : -1;
        return NULL;
    }
    line->is_busy = true;
    line->is_put_off = false;
    line->targets = window->targets;
    window->busy_count++;
    TAILQ_REMOVE(&window->lines, line, entry);
    TAILQ_INSERT_TAIL(&window->lines, line, entry);
    return line;
}

static void turn_end(struct mg_window *window, struct mg_window_line *line)
{
    window->busy_count -= line->is_busy;
    line->is_busy = false;
    line->sent = NULL;
}

void mg_window_taken(struct mg_window *window, struct mg_window_line *line, int64_t now_ms)
{
    turn_end(window, line);
    line->failures = 0;
    line->retry_at_ms = 0;
    if (now_ms - window->taken_at_ms > MG_WINDOW_TAKES_MS) {
        refusals_forget(window);
    }
    window->taken_at_ms = now_ms;
    if (window->is_down) { /* those that failed meanwhile wait no longer */
        mg_window_restart(window);
    }
    window->failures = 0;
    window->failing_since_ms = 0;
}

void mg_window_restart(struct mg_window *window)
{
    struct mg_window_line *line;
    window->is_down = false;
    window->failures = 0;
    TAILQ_FOREACH(line, &window->lines, entry)
    {
        line->retry_at_ms = 0;
    }
}

void mg_window_retarget(struct mg_window *window)
{
    struct mg_window_line *line;
    refusals_forget(window);
    mg_window_restart(window);
    window->targets++;
    window->failing_since_ms = 0;
    TAILQ_FOREACH(line, &window->lines, entry)
    {
        line->failures = 0;
    }
}

bool mg_window_is_outdated(const struct mg_window *window, const struct mg_window_line *line)
{
    return line->is_busy && line->targets != window->targets;
}

bool mg_window_failed(struct mg_window *window, struct mg_window_line *line, int64_t retry_after_ms,
                      uint64_t random, int64_t now_ms)
{
    bool was_down = window->is_down;
    if (mg_window_is_outdated(window, line)) {
        mg_window_defer(window, line, 0);
        return false;
    }
    if (retry_after_ms > MG_WINDOW_RETRY_AFTER_MAX_MS) {
        retry_after_ms = MG_WINDOW_RETRY_AFTER_MAX_MS;
    }
    int64_t wait_ms =
        mg_backoff_ms(MG_WINDOW_BACKOFF_MS, MG_WINDOW_BACKOFF_MAX_MS, line->failures, retry_after_ms, random);
    turn_end(window, line);
    line->failures++;
    line->retry_at_ms = now_ms + wait_ms;
    window->failures++;
    window->failing_since_ms = window->failing_since_ms != 0 ? window->failing_since_ms : now_ms;
    window->is_down = window->failures >= MG_WINDOW_DOWN_AFTER;
    if (window->is_down) {
        window->retry_at_ms =
            now_ms + mg_backoff_ms(MG_WINDOW_BACKOFF_MS, MG_WINDOW_BACKOFF_MAX_MS,
                                   window->failures - MG_WINDOW_DOWN_AFTER, retry_after_ms, random);
    }
    return window->is_down && !was_down;
}

void mg_window_defer(struct mg_window *window, struct mg_window_line *line, int64_t until_ms)
{
    turn_end(window, line);
    line->retry_at_ms = until_ms;
}

void mg_window_resume(struct mg_window *window)
{
    struct mg_window_line *line;
    TAILQ_FOREACH(line, &window->lines, entry)
    {
        line->retry_at_ms = line->is_put_off ? 0 : line->retry_at_ms;
        line->is_put_off = false;
    }
}

void mg_window_drop(struct mg_window *window, struct mg_window_line *line)
{
    turn_end(window, line);
    TAILQ_REMOVE(&window->lines, line, entry);
    free(line);
}
