/* Open failures of orders as SQL, to list, count and choose them. Parameters are texts like "$1". */
#ifndef MG_IO_STORE_FAILURES_H
#define MG_IO_STORE_FAILURES_H

#include "io/pg/pg.h"
#include "io/store/labels.h"

/* Only this many of the newest open failures are read: counted in a few tenths of a second, and more than any
 * person reads. */
#define MG_SQL_FAILURES_MAX "100000"

/* clang-format off */

/* A moment from a person, in milliseconds: since 1970, or, below 0, before now; '': none. */
#define MG_SQL_MOMENT(p)                                                                                     \
    "(CASE WHEN " p "::text = '' THEN NULL WHEN " p "::text LIKE '-%'"                                       \
    " THEN " MG_SQL_NOW " + " p "::text::bigint * interval '1 millisecond'"                                  \
    " ELSE " MG_SQL_TIME(p "::text::bigint") " END)"
/* The bounds are subqueries, computed once, so an index can be walked between them. */
#define MG_SQL_IS_WITHIN(time, since, until)                                                                 \
    time " >= (SELECT coalesce(" MG_SQL_MOMENT(since) ", '-infinity'))"                                      \
    " AND " time " < (SELECT coalesce(" MG_SQL_MOMENT(until) ", 'infinity'))"

/* The newest open failures of orders within a time and after the alert `after`, with texts for people. Those
 * of earlier versions have no workflow. Alerts without an order's transition (store/alert.c, also the
 * supervisor's) are about a queue, a service, a message or the whole system. They name no order and are no
 * failures. */
#define MG_SQL_NOT_KNOWN "'not known'"
#define MG_SQL_BEHIND(column, after)                                                                         \
    "(SELECT b." column " FROM operator_alert b WHERE b.alert_id = nullif(" after "::text, '')::bigint)"
#define MG_SQL_FAILURES(since, until, after)                                                                 \
    "SELECT f.alert_id, f.opened_at, f.order_id, coalesce(f.workflow, " MG_SQL_NOT_KNOWN ") AS workflow,"    \
    " CASE WHEN f.workflow IS NULL THEN " MG_SQL_NOT_KNOWN " ELSE f.step END AS step,"                       \
    " CASE WHEN f.workflow IS NULL THEN " MG_SQL_NOT_KNOWN " ELSE f.service END AS service,"                 \
    " coalesce(f.error_code, " MG_SQL_NOT_KNOWN ") AS error"                                                 \
    " FROM operator_alert f WHERE f.closed_at IS NULL AND f.order_id IS NOT NULL"                            \
    " AND " MG_SQL_IS_WITHIN("f.opened_at", since, until)                                                    \
    " AND f.opened_at <= (SELECT coalesce(" MG_SQL_BEHIND("opened_at", after) ", 'infinity'))"               \
    " AND (" after "::text = '' OR f.opened_at < " MG_SQL_BEHIND("opened_at", after)                         \
    "  OR f.alert_id < " MG_SQL_BEHIND("alert_id", after) ")"                                                \
    " ORDER BY f.opened_at DESC, f.alert_id DESC LIMIT " MG_SQL_FAILURES_MAX
/* `error`: a whole code, the class of codes ("http_422" of "http_422/SOLD_OUT"), or a service's own code ("SOLD_OUT").
 * `services`: names separated by blanks; `labels`: store/labels.h. */
#define MG_SQL_IS_FAILURE_WANTED(workflow, step, error, services, labels)                                    \
    "(" workflow "::text = '' OR f.workflow = " workflow "::text)"                                           \
    " AND (" step "::text = '' OR f.step = " step "::text)"                                                  \
    " AND (" error "::text = '' OR f.error = " error "::text OR starts_with(f.error, " error "::text || '/')"  \
    "  OR right(f.error, length(" error "::text) + 1) = '/' || " error "::text)"                              \
    " AND (" services "::text = '' OR f.service = ANY (string_to_array(" services "::text, ' ')))"             \
    " AND " MG_SQL_IS_AMONG_LABELLED("f.order_id", labels)

/* An order is in one bulk action at a time. */
#define MG_SQL_IS_IN_BULK(order_id)                                                                         \
    "EXISTS (SELECT FROM bulk_order o WHERE o.order_id = " order_id " AND o.result IN ('waiting', 'asked'))"

/* clang-format on */

#endif
