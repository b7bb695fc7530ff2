/*
 * The statuses of one order as a client reads them: by rising `seq`, each once. The engine may repeat them
 * and send them in disorder. A status that went to a lost queue leaves a gap. The one after it is held for a
 * while, because the missing one may still come.
 *
 * No I/O, no clock. The owner serialises the calls.
 */
#ifndef MG_CLIENT_STATUSES_H
#define MG_CLIENT_STATUSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "core/model.h"

/* Statuses of one order that are not read yet. More mean that its client reads none, and uses only the
 * newest. */
#define MG_STATUSES_MAX 64
/* Their bytes: some statuses with the largest output. The newest is kept at any size. */
#define MG_STATUSES_BYTES_MAX ((size_t)256 * 1024)

struct mg_kept_status {
    TAILQ_ENTRY(mg_kept_status) entry;
    uint64_t seq;
    int64_t came_ms;
    bool is_read;
    bool is_end; /* mg_status_is_end */
    size_t len;
    char body[]; /* ends with a NUL beyond `len` */
};

struct mg_statuses {
    TAILQ_HEAD(mg_kept_list, mg_kept_status) kept; /* by rising seq: those not read yet, and the newest */
    int64_t read_seq;                              /* of the newest read; -1: none */
    int count;
    size_t bytes;
};

void mg_statuses_init(struct mg_statuses *statuses);
void mg_statuses_finish(struct mg_statuses *statuses);

/* Keeps a copy. A repeated status, and one after which a later one was read, changes nothing. Above a bound
 * the oldest are dropped, and leave a gap. MG_TRANSIENT: out of memory. */
enum mg_class mg_statuses_put(struct mg_statuses *statuses, uint64_t seq, bool is_end, struct mg_slice body,
                              int64_t now_ms, struct mg_err *err) MG_MUSTCHECK;

/* The next status to read, or NULL. One after a gap is next when `gap_ms` have passed since it came; if that
 * is the reason for NULL, `ret_due_ms` is that moment, else INT64_MAX. The first status is number 1; a
 * rejection is 0. */
const struct mg_kept_status *mg_statuses_next(const struct mg_statuses *statuses, int64_t gap_ms,
                                              int64_t now_ms, int64_t *ret_due_ms);
/* Marks the one from mg_statuses_next as read. It stays only as the newest. */
void mg_statuses_read(struct mg_statuses *statuses, uint64_t seq);

/* The one with the highest seq, read or not; NULL: none has come. */
const struct mg_kept_status *mg_statuses_newest(const struct mg_statuses *statuses);

/* The status ends the order. An order in `error` may go on after an operator's repair. */
bool mg_status_is_end(enum mg_status status);
/* No other status can follow. */
bool mg_status_is_final(enum mg_status status);

#endif
