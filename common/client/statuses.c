/* See statuses.h. A list by rising seq is enough: an order seldom has more than a few unread statuses. */
#include "client/statuses.h"

#include <stdlib.h>
#include <string.h>

void mg_statuses_init(struct mg_statuses *statuses)
{
    *statuses = (struct mg_statuses){.read_seq = -1};
    TAILQ_INIT(&statuses->kept);
}

static void status_drop(struct mg_statuses *statuses, struct mg_kept_status *status)
{
    TAILQ_REMOVE(&statuses->kept, status, entry);
    statuses->count--;
    statuses->bytes -= status->len;
    free(status);
}

void mg_statuses_finish(struct mg_statuses *statuses)
{
    while (!TAILQ_EMPTY(&statuses->kept)) {
        status_drop(statuses, TAILQ_FIRST(&statuses->kept));
    }
}

const struct mg_kept_status *mg_statuses_newest(const struct mg_statuses *statuses)
{
    return TAILQ_LAST(&statuses->kept, mg_kept_list);
}

enum mg_class mg_statuses_put(struct mg_statuses *statuses, uint64_t seq, bool is_end, struct mg_slice body,
                              int64_t now_ms, struct mg_err *err)
{
    struct mg_kept_status *before = TAILQ_LAST(&statuses->kept, mg_kept_list);
    while (before != NULL && before->seq > seq) {
        before = TAILQ_PREV(before, mg_kept_list, entry);
    }
    if ((int64_t)seq <= statuses->read_seq || (before != NULL && before->seq == seq)) {
        return MG_OK;
    }
    struct mg_kept_status *status = malloc(sizeof(*status) + body.len + 1);
    if (status == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not keep a status: no memory");
    }
    status->seq = seq;
    status->came_ms = now_ms;
    status->is_read = false;
    status->is_end = is_end;
    status->len = body.len;
    memcpy(status->body, body.data, body.len);
    status->body[body.len] = '\0';
    if (before == NULL) {
        TAILQ_INSERT_HEAD(&statuses->kept, status, entry);
    } else {
        TAILQ_INSERT_AFTER(&statuses->kept, before, status, entry);
    }
    statuses->count++;
    statuses->bytes += body.len;
    for (;;) {
        struct mg_kept_status *oldest = TAILQ_FIRST(&statuses->kept);
        bool is_over = statuses->count > MG_STATUSES_MAX || statuses->bytes > MG_STATUSES_BYTES_MAX;
        if (statuses->count == 1 || !(oldest->is_read || is_over)) {
            return MG_OK;
        }
        status_drop(statuses, oldest);
    }
}

const struct mg_kept_status *mg_statuses_next(const struct mg_statuses *statuses, int64_t gap_ms,
                                              int64_t now_ms, int64_t *ret_due_ms)
{
    const struct mg_kept_status *status = TAILQ_FIRST(&statuses->kept);
    *ret_due_ms = INT64_MAX;
    if (status != NULL && status->is_read) {
        status = TAILQ_NEXT(status, entry);
    }
    if (status == NULL) {
        return NULL;
    }
    int64_t expected = statuses->read_seq < 0 ? 1 : statuses->read_seq + 1;
    if ((int64_t)status->seq > expected && now_ms - status->came_ms < gap_ms) {
        *ret_due_ms = status->came_ms + gap_ms;
        return NULL;
    }
    return status;
}

void mg_statuses_read(struct mg_statuses *statuses, uint64_t seq)
{
    struct mg_kept_status *status;
    statuses->read_seq = (int64_t)seq;
    while ((status = TAILQ_FIRST(&statuses->kept)) != NULL && status->seq <= seq) {
        if (TAILQ_NEXT(status, entry) == NULL) {
            status->is_read = true;
            return;
        }
        status_drop(statuses, status);
    }
}

bool mg_status_is_final(enum mg_status status)
{
    return status == MG_STATUS_PROCESSED || status == MG_STATUS_COMPENSATED ||
           status == MG_STATUS_CANCELLED || status == MG_STATUS_REJECTED;
}

bool mg_status_is_end(enum mg_status status)
{
    return mg_status_is_final(status) || status == MG_STATUS_ERROR;
}
