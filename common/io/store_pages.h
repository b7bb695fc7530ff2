/*
 * The console's pages of orders as SQL, for store_report.c, whose macros they use: bounded whatever the
 * tables have grown to, and without an index that each new order would have to pay for.
 */
#ifndef MG_IO_STORE_PAGES_H
#define MG_IO_STORE_PAGES_H

/* Of open orders so many are looked at, those that are due first. */
#define PAGE_OPEN_MAX "10000"
/* Of all orders those in so many blocks of the table, 4 MB: some thousand to some ten thousand. */
#define PAGE_BLOCKS "512"
/* Orders that came at the same time may lie so far apart: each session that inserts fills blocks of its own.
 */
#define DISORDER_BLOCKS "64"

/* clang-format off */

#define PAGE_ORDER(p)                                                                                        \
    "json_build_object('order_id', " p ".order_id, 'workflow', " p ".workflow, 'state', " p ".process_state," \
    " 'goal', " p ".goal, 'reason', " p ".reason, 'failure_count', " p ".failure_count,"                     \
    " 'created_at', " ISO(p ".created_at") ", 'updated_at', " ISO(p ".updated_at") ","                       \
    " 'complete_by', " ISO(p ".complete_by") ")"

/* The cursor is the last order of the page before. */
#define PAGE_OPEN                                                                                            \
    "WITH open AS MATERIALIZED (SELECT order_id, workflow, process_state, goal, reason, failure_count,"      \
    "  created_at, updated_at, complete_by FROM order_process WHERE wake_at IS NOT NULL"                     \
    "  ORDER BY wake_at LIMIT " PAGE_OPEN_MAX "),"                                                           \
    " shown AS MATERIALIZED (SELECT * FROM open p"                                                           \
    "  WHERE CASE WHEN $1::text = '' THEN p.process_state <> 'error' ELSE p.process_state = $1::text END"    \
    "  AND ($2::text = '' OR p.workflow = $2::text) AND " MG_SQL_IS_WITHIN("p.created_at", "$3", "$4")              \
    "  AND ($5::text = '' OR (p.created_at, p.order_id) >"                                                   \
    "   (SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = $5::text))"                 \
    "  ORDER BY p.created_at, p.order_id LIMIT least($6::text::bigint, " ROWS_MAX "))"                       \
    " SELECT json_build_object("                                                                             \
    "  'orders', (SELECT coalesce(json_agg(" PAGE_ORDER("s") " ORDER BY s.created_at, s.order_id), '[]') FROM shown s)," \
    "  'looked_at', (SELECT count(*) FROM open), 'is_full', (SELECT count(*) = " PAGE_OPEN_MAX " FROM open),"  \
    "  'back_to', NULL,"                                                                                     \
    "  'next', (SELECT CASE WHEN count(*) = least($6::text::bigint, " ROWS_MAX ") THEN"                      \
    "   (array_agg(s.order_id ORDER BY s.created_at DESC, s.order_id DESC))[1] END FROM shown s)) AS page"

/*
 * Nothing is ever deleted from `orders` or changed in it, so its blocks are filled one after the other, and the
 * newest orders lie at its end: a page is a range of blocks, read back to front, and sorted. A cursor is BLOCK, where
 * to go on, or BLOCK/ORDER, within the same blocks behind that order. Where `until` names a time, its block is
 * found by halving. A table that somebody has sorted otherwise (CLUSTER) is still shown whole, only not in order.
 */
#define PAGE_TID(block) "('(' || " block " || ',0)')::tid"
#define PAGE_NEWEST                                                                                          \
    "WITH RECURSIVE size AS MATERIALIZED (SELECT pg_relation_size('orders')"                                 \
    "  / current_setting('block_size')::bigint AS blocks),"                                                  \
    " half(low, high) AS (SELECT 0::bigint, blocks FROM size WHERE $4::text <> '' AND $5::text = ''"         \
    "  UNION ALL SELECT CASE WHEN m.is_before THEN m.middle ELSE m.low END,"                                 \
    "   CASE WHEN m.is_before THEN m.high ELSE m.middle END"                                                 \
    "  FROM (SELECT h.low, h.high, (h.low + h.high) / 2 AS middle, coalesce((SELECT min(o.received_at)"      \
    "    FROM orders o WHERE o.ctid >= " PAGE_TID("(h.low + h.high) / 2")                                    \
    "    AND o.ctid < " PAGE_TID("(h.low + h.high) / 2 + 1") ") < " MG_SQL_MOMENT("$4") ", false) AS is_before"     \
    "   FROM half h WHERE h.high - h.low > " DISORDER_BLOCKS ") m),"                                         \
    " range AS MATERIALIZED (SELECT high, greatest(high - " PAGE_BLOCKS ", 0) AS low FROM (SELECT CASE"      \
    "   WHEN $5::text <> '' THEN split_part($5::text, '/', 1)::bigint"                                       \
    "   ELSE least((SELECT min(h.high) FROM half h) + " DISORDER_BLOCKS ", (SELECT blocks FROM size)) END AS high) r)," \
    " seen AS MATERIALIZED (SELECT o.order_id, o.received_at, o.workflow FROM orders o"                      \
    "  WHERE o.ctid >= (SELECT " PAGE_TID("low") " FROM range) AND o.ctid < (SELECT " PAGE_TID("high") " FROM range)" \
    "  AND o.revision = 1),"                                                                                 \
    " behind AS (SELECT s.received_at, s.order_id FROM seen s WHERE s.order_id = split_part($5::text, '/', 2)),"  \
    " shown AS MATERIALIZED (SELECT p.*, s.received_at FROM (SELECT s.* FROM seen s"                         \
    "   WHERE ($2::text = '' OR s.workflow = $2::text) AND " MG_SQL_IS_WITHIN("s.received_at", "$3", "$4")          \
    "   AND (split_part($5::text, '/', 2) = '' OR (s.received_at, s.order_id) < (SELECT * FROM behind))"     \
    "   ORDER BY s.received_at DESC, s.order_id DESC) s"                                                     \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p"        \
    "  WHERE $1::text = '' OR p.process_state = $1::text"                                                    \
    "  ORDER BY s.received_at DESC, s.order_id DESC LIMIT least($6::text::bigint, " ROWS_MAX "))"            \
    " SELECT json_build_object("                                                                             \
    "  'orders', (SELECT coalesce(json_agg(" PAGE_ORDER("s") " ORDER BY s.received_at DESC, s.order_id DESC), '[]') FROM shown s)," \
    "  'looked_at', (SELECT count(*) FROM seen), 'is_full', false,"                                          \
    "  'back_to', (SELECT " ISO("min(s.received_at)") " FROM seen s),"                                       \
    "  'next', CASE WHEN (SELECT count(*) FROM shown) = least($6::text::bigint, " ROWS_MAX ") THEN"          \
    "    (SELECT high FROM range) || '/' || (SELECT (array_agg(s.order_id ORDER BY s.received_at, s.order_id))[1] FROM shown s)" \
    "   WHEN (SELECT low FROM range) = 0 OR (SELECT min(s.received_at) FROM seen s) < " MG_SQL_MOMENT("$3") " THEN NULL" \
    "   ELSE (SELECT low FROM range)::text END) AS page"

/* clang-format on */

#endif
