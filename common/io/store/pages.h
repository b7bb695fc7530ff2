/*
 * The console's pages of orders as SQL, for store/report.c, with its macros. Bounded for tables of any
 * size.
 */
#ifndef MG_IO_STORE_PAGES_H
#define MG_IO_STORE_PAGES_H

/* Number of open orders read, those due first. */
#define MG_PAGE_OPEN_MAX "10000"
/* Number of orders read where a filter selects some of all orders. */
#define MG_PAGE_NEWEST_MAX "10000"

/* clang-format off */

#define MG_PAGE_ORDER(p)                                                                                        \
    "json_build_object('order_id', " p ".order_id, 'workflow', " p ".workflow, 'state', " p ".process_state," \
    " 'goal', " p ".goal, 'reason', " p ".reason, 'failure_count', " p ".failure_count,"                     \
    " 'created_at', " ISO(p ".created_at") ", 'updated_at', " ISO(p ".updated_at") ","                       \
    " 'complete_by', " ISO(p ".complete_by") ")"

/* The cursor is the last order of the previous page. */
#define MG_PAGE_OPEN                                                                                            \
    "WITH open AS MATERIALIZED (SELECT order_id, workflow, process_state, goal, reason, failure_count,"      \
    "  created_at, updated_at, complete_by FROM order_process WHERE wake_at IS NOT NULL"                     \
    "  ORDER BY wake_at LIMIT " MG_PAGE_OPEN_MAX "),"                                                           \
    " shown AS MATERIALIZED (SELECT * FROM open p"                                                           \
    "  WHERE CASE WHEN $1::text = '' THEN p.process_state <> 'error' ELSE p.process_state = $1::text END"    \
    "  AND ($2::text = '' OR p.workflow = $2::text) AND " MG_SQL_IS_WITHIN("p.created_at", "$3", "$4")              \
    "  AND ($5::text = '' OR (p.created_at, p.order_id) >"                                                   \
    "   (SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = $5::text))"                 \
    "  ORDER BY p.created_at, p.order_id LIMIT least($6::text::bigint, " ROWS_MAX "))"                       \
    " SELECT json_build_object("                                                                             \
    "  'orders', (SELECT coalesce(json_agg(" MG_PAGE_ORDER("s") " ORDER BY s.created_at, s.order_id), '[]') FROM shown s)," \
    "  'looked_at', (SELECT count(*) FROM open), 'is_full', (SELECT count(*) = " MG_PAGE_OPEN_MAX " FROM open),"  \
    "  'back_to', NULL,"                                                                                     \
    "  'next', (SELECT CASE WHEN count(*) = least($6::text::bigint, " ROWS_MAX ") THEN"                      \
    "   (array_agg(s.order_id ORDER BY s.created_at DESC, s.order_id DESC))[1] END FROM shown s)) AS page"

/*
 * Uses the index orders_received. The cursor is the last order of the previous page, MICROSECONDS/ORDER; it
 * stays valid after that order has left for the archive. An order without a row in order_process has just
 * left.
 */
#define MG_PAGE_NEWEST_ALL "($1::text = '' AND $2::text = '')"
#define MG_PAGE_NEWEST_CURSOR(f)                                                                                \
    "(SELECT (extract(epoch FROM " f ".received_at) * 1000000)::bigint || '/' || " f ".order_id FROM " f     \
    " ORDER BY " f ".received_at, " f ".order_id LIMIT 1)"
#define MG_PAGE_NEWEST                                                                                          \
    "WITH behind AS MATERIALIZED (SELECT CASE WHEN $5::text = '' THEN 'infinity' ELSE 'epoch'::timestamptz"  \
    "   + split_part($5::text, '/', 1)::bigint * interval '1 microsecond' END AS at, split_part($5::text, '/', 2) AS id)," \
    " seen AS MATERIALIZED (SELECT o.order_id, o.received_at, o.workflow FROM orders o"                      \
    "  WHERE o.revision = 1 AND " MG_SQL_IS_WITHIN("o.received_at", "$3", "$4")                              \
    "  AND (o.received_at, o.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))"                 \
    "  ORDER BY o.received_at DESC, o.order_id DESC"                                                         \
    "  LIMIT CASE WHEN " MG_PAGE_NEWEST_ALL " THEN least($6::text::bigint, " ROWS_MAX ") ELSE " MG_PAGE_NEWEST_MAX " END)," \
    " shown AS MATERIALIZED (SELECT p.*, s.received_at FROM (SELECT s.* FROM seen s"                         \
    "   WHERE $2::text = '' OR s.workflow = $2::text ORDER BY s.received_at DESC, s.order_id DESC) s"        \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p"        \
    "  WHERE $1::text = '' OR p.process_state = $1::text"                                                    \
    "  ORDER BY s.received_at DESC, s.order_id DESC LIMIT least($6::text::bigint, " ROWS_MAX ")),"           \
    " counted AS (SELECT (SELECT count(*) FROM seen) AS seen, (SELECT count(*) FROM shown) AS shown)"        \
    " SELECT json_build_object("                                                                             \
    "  'orders', (SELECT coalesce(json_agg(" MG_PAGE_ORDER("s") " ORDER BY s.received_at DESC, s.order_id DESC), '[]') FROM shown s)," \
    "  'looked_at', c.seen, 'is_full', false, 'back_to', (SELECT " ISO("min(s.received_at)") " FROM seen s)," \
    "  'next', CASE WHEN c.shown = least($6::text::bigint, " ROWS_MAX ") THEN " MG_PAGE_NEWEST_CURSOR("shown")   \
    "   WHEN c.seen = CASE WHEN " MG_PAGE_NEWEST_ALL " THEN least($6::text::bigint, " ROWS_MAX ")"              \
    "    ELSE " MG_PAGE_NEWEST_MAX " END THEN " MG_PAGE_NEWEST_CURSOR("seen") " END) AS page FROM counted c"

/*
 * For the tool: orders, newest first. $1 state, $2 workflow, $3 since, $4 until, $5 the last order of the page before,
 * $6 limit. Without state and workflow every order is wanted, so `newest` reads the index orders_received and no more
 * than it shows. Else `chosen` reads the whole table, since no index has the states: a list by state is complete.
 */
#define MG_LIST_ORDERS                                                                                       \
    "WITH behind AS MATERIALIZED (SELECT 'infinity'::timestamptz AS at, '' AS id WHERE $5::text = ''"        \
    "  UNION ALL SELECT a.received_at, a.order_id FROM orders a WHERE a.order_id = $5::text AND a.revision = 1)," \
    " newest AS (SELECT p.*, o.received_at AS at FROM (SELECT o.order_id, o.received_at FROM orders o"       \
    "   WHERE o.revision = 1 AND " MG_PAGE_NEWEST_ALL " AND " MG_SQL_IS_WITHIN("o.received_at", "$3", "$4")  \
    "   AND (o.received_at, o.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))"                \
    "   ORDER BY o.received_at DESC, o.order_id DESC) o"                                                     \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = o.order_id OFFSET 0) p"        \
    "  ORDER BY o.received_at DESC, o.order_id DESC LIMIT least($6::text::bigint, " ROWS_MAX ")),"           \
    " chosen AS (SELECT p.*, p.created_at AS at FROM order_process p"                                        \
    "  WHERE NOT " MG_PAGE_NEWEST_ALL " AND ($1::text = '' OR p.process_state = $1::text)"                   \
    "  AND ($2::text = '' OR p.workflow = $2::text) AND " MG_SQL_IS_WITHIN("p.created_at", "$3", "$4")       \
    "  AND ($5::text = '' OR (p.created_at, p.order_id) <"                                                   \
    "   (SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = $5::text))"                 \
    "  ORDER BY p.created_at DESC, p.order_id DESC LIMIT least($6::text::bigint, " ROWS_MAX "))"             \
    " SELECT p.order_id, p.workflow, p.process_state AS state, p.goal, p.reason, p.failure_count,"           \
    "  " ISO("p.created_at") " AS created_at, " ISO("p.updated_at") " AS updated_at,"                        \
    "  " ISO("p.complete_by") " AS complete_by"                                                              \
    " FROM (SELECT * FROM newest UNION ALL SELECT * FROM chosen) p ORDER BY p.at DESC, p.order_id DESC"

/* clang-format on */

#endif
