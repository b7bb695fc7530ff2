/*
 * Pages of orders as SQL, for the lists of console and tool: store/report.c, with its macros. Bounded for
 * tables of any size.
 */
#ifndef MG_IO_STORE_PAGES_H
#define MG_IO_STORE_PAGES_H

/* Number of open orders read, those due first. */
#define MG_PAGE_OPEN_MAX "10000"
/* Number of orders read where a filter selects some of them: some tenths of a second at most. */
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
 * Pages of orders, newest first: $1 state, $2 workflow, $3 since, $4 until, $5 cursor, $6 limit. The cursor is the
 * order last read, MICROSECONDS/ORDER, which stays valid after that order has left for the archive; or the id of an
 * order in the tables.
 *
 * `seen` are the orders that a page reads, from one source; `shown` are those of them that are wanted.
 *   newest  all orders, by the index orders_received. Without state and workflow no more than are shown. An order
 *           without a row in order_process has just left.
 *   amiss   orders that turned back or need an operator, by the index order_process_reason. Of these states the core
 *           leaves no order without a reason.
 *   open    all open orders, if an open state is wanted and they are fewer than a page reads
 * A page without a match has a cursor, so that a rare state or workflow costs pages, and each of them is bounded.
 */
#define MG_SQL_OPEN_STATES  "('pending', 'processing', 'compensating')"
#define MG_SQL_AMISS_STATES "('compensating', 'compensated', 'cancelled', 'error')"
#define MG_SQL_IS_STATE_WANTED(state, wanted)                                                                \
    "CASE " wanted "::text WHEN '' THEN true WHEN 'open' THEN " state " IN " MG_SQL_OPEN_STATES              \
    " ELSE " state " = " wanted "::text END"
#define MG_SQL_IS_ANY_WANTED "($1::text = '' AND $2::text = '')"
/* Whether open orders are wanted and few. */
#define MG_SQL_IS_OPEN_AND_FEW                                                                               \
    "(($1::text = 'open' OR $1::text IN " MG_SQL_OPEN_STATES ")"                                             \
    " AND (SELECT count(*) FROM (SELECT FROM order_process p WHERE p.wake_at IS NOT NULL"                    \
    "  ORDER BY p.wake_at LIMIT " MG_PAGE_OPEN_MAX ") o) < " MG_PAGE_OPEN_MAX ")"
#define MG_SQL_IS_SOURCE(name) "(SELECT s.name FROM source s) = '" name "'"
#define MG_SQL_BEHIND_CURSOR                                                                                 \
    "behind AS MATERIALIZED (SELECT 'infinity'::timestamptz AS at, '' AS id WHERE $5::text = ''"             \
    "  UNION ALL SELECT 'epoch'::timestamptz + split_part($5::text, '/', 1)::bigint * interval '1 microsecond'," \
    "   split_part($5::text, '/', 2) WHERE $5::text LIKE '%/%'"                                              \
    "  UNION ALL SELECT coalesce((SELECT o.received_at FROM orders o WHERE o.order_id = a.order_id AND o.revision = 1" \
    "    AND " MG_SQL_IS_SOURCE("newest") "), a.created_at), a.order_id"                                     \
    "   FROM order_process a WHERE a.order_id = $5::text)"
#define MG_SQL_IS_ON_PAGE(time, id)                                                                          \
    MG_SQL_IS_WITHIN(time, "$3", "$4") " AND (" time ", " id ") < ((SELECT at FROM behind), (SELECT id FROM behind))"
/* `all`: whether each order read is shown, so that no more are read. */
#define MG_SQL_SEEN_NEWEST(all)                                                                              \
    "(SELECT o.order_id, o.received_at AS at, o.workflow FROM orders o"                                      \
    " WHERE o.revision = 1 AND " MG_SQL_IS_SOURCE("newest") " AND " MG_SQL_IS_ON_PAGE("o.received_at", "o.order_id") \
    " ORDER BY o.received_at DESC, o.order_id DESC"                                                          \
    " LIMIT CASE WHEN " all " THEN least($6::text::bigint, " ROWS_MAX ") ELSE " MG_PAGE_NEWEST_MAX " END)"
#define MG_SQL_SEEN_AMISS                                                                                    \
    "(SELECT p.order_id, p.created_at AS at, $2::text AS workflow FROM order_process p"                      \
    " WHERE p.reason <> 'none' AND " MG_SQL_IS_SOURCE("amiss") " AND " MG_SQL_IS_ON_PAGE("p.created_at", "p.order_id") \
    " ORDER BY p.created_at DESC, p.order_id DESC LIMIT " MG_PAGE_NEWEST_MAX ")"
/* An order in doubt that only a person can settle may have no moment at which it wakes; it has an alert. */
#define MG_SQL_SEEN_OPEN                                                                                     \
    "SELECT o.order_id, o.created_at AS at, o.workflow FROM ("                                               \
    "  (SELECT p.order_id, p.created_at, p.workflow FROM order_process p"                                    \
    "   WHERE p.wake_at IS NOT NULL AND " MG_SQL_IS_SOURCE("open") " ORDER BY p.wake_at LIMIT " MG_PAGE_OPEN_MAX ")" \
    "  UNION ALL SELECT p.order_id, p.created_at, p.workflow FROM (SELECT DISTINCT d.order_id FROM ("        \
    "    SELECT a.order_id FROM operator_alert a WHERE a.code = 'outcome_unknown' AND a.closed_at IS NULL"   \
    "     AND " MG_SQL_IS_SOURCE("open") " ORDER BY a.code, a.subject LIMIT " MG_PAGE_OPEN_MAX ") d) d"      \
    "   CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = d.order_id OFFSET 0) p"       \
    "   WHERE p.wake_at IS NULL) o"                                                                          \
    " WHERE " MG_SQL_IS_ON_PAGE("o.created_at", "o.order_id")
#define MG_SQL_PAGE_CURSOR(f)                                                                                \
    "(SELECT (extract(epoch FROM greatest(" f ".at, 'epoch')) * 1000000)::bigint || '/' || " f ".order_id FROM " f              \
    " ORDER BY " f ".at, " f ".order_id LIMIT 1)"
/* `source` is a table of this name with one row, `name`; `seen` has order_id, at and workflow, where that is found
 * without the order's row; `is_wanted` is a condition of p. */
#define MG_SQL_PAGE(source, seen, all, is_wanted)                                                            \
    "WITH " source ", " MG_SQL_BEHIND_CURSOR ", seen AS MATERIALIZED (" seen "),"                            \
    " shown AS MATERIALIZED (SELECT p.*, s.at FROM (SELECT s.* FROM seen s"                                  \
    "   WHERE $2::text = '' OR s.workflow = $2::text ORDER BY s.at DESC, s.order_id DESC) s"                 \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p"        \
    "  WHERE " MG_SQL_IS_STATE_WANTED("p.process_state", "$1")                                               \
    "   AND ($2::text = '' OR p.workflow = $2::text) AND " is_wanted                                         \
    "  ORDER BY s.at DESC, s.order_id DESC LIMIT least($6::text::bigint, " ROWS_MAX ")),"                    \
    " counted AS (SELECT (SELECT count(*) FROM seen) AS seen, (SELECT count(*) FROM shown) AS shown),"       \
    " page AS (SELECT c.seen AS looked_at, (SELECT " ISO("min(s.at)") " FROM seen s) AS back_to,"            \
    "  CASE WHEN c.shown = least($6::text::bigint, " ROWS_MAX ") THEN " MG_SQL_PAGE_CURSOR("shown")          \
    "   WHEN c.seen = CASE WHEN " MG_SQL_IS_SOURCE("newest") " AND " all " THEN least($6::text::bigint, " ROWS_MAX ")" \
    "    ELSE " MG_PAGE_NEWEST_MAX " END THEN " MG_SQL_PAGE_CURSOR("seen") " END AS next FROM counted c)"
#define MG_SQL_PAGE_OF_ORDERS MG_SQL_PAGE_OF_SOME(MG_SQL_IS_ANY_WANTED, "true")
#define MG_SQL_PAGE_OF_SOME(all, is_wanted)                                                                  \
    MG_SQL_PAGE("source AS MATERIALIZED (SELECT CASE WHEN $1::text IN " MG_SQL_AMISS_STATES " THEN 'amiss'"  \
                "  WHEN " MG_SQL_IS_OPEN_AND_FEW " THEN 'open' ELSE 'newest' END AS name)",                  \
                MG_SQL_SEEN_NEWEST(all) " UNION ALL " MG_SQL_SEEN_AMISS " UNION ALL " MG_SQL_SEEN_OPEN, all, is_wanted)
/* For the tool: the orders of a page, each with the page; without an order one row with the page alone. */
#define MG_LIST_PAGE(page)                                                                                   \
    page " SELECT s.order_id, s.workflow, s.process_state AS state, s.goal, s.reason, s.failure_count,"      \
    "  " ISO("s.created_at") " AS created_at, " ISO("s.updated_at") " AS updated_at,"                        \
    "  " ISO("s.complete_by") " AS complete_by, p.looked_at, p.back_to, p.next"                              \
    " FROM page p LEFT JOIN shown s ON true ORDER BY s.at DESC, s.order_id DESC"
/* For the console. */
#define MG_JSON_PAGE(page)                                                                                   \
    page " SELECT json_build_object("                                                                        \
    "  'orders', (SELECT coalesce(json_agg(" MG_PAGE_ORDER("s") " ORDER BY s.at DESC, s.order_id DESC), '[]') FROM shown s)," \
    "  'looked_at', p.looked_at, 'is_full', false, 'back_to', p.back_to, 'next', p.next) AS page FROM page p"

/* Whether an order is a client's. One that an older version stored gets its client by a later revision. */
#define MG_SQL_IS_OF_CLIENT(p, client)                                                                       \
    "EXISTS (SELECT FROM orders c WHERE c.order_id = " p ".order_id AND c.client = " client "::text)"
/*
 * Pages of one client's orders, newest first, for the gateway: $1 client, $2 state, $3 cursor, $4 limit, $5 labels. No
 * row of another client is read, so neither a page nor its cursor nor its time depends on others. By the indexes orders_client
 * and order_label_client: of the label with the fewest orders. Where a filter selects some orders, a page reads a bounded
 * number of them, and has a cursor even without a match.
 */
#define MG_PAGE_CLIENT_MAX "1000"
#define MG_SQL_CLIENT_LIMIT "least($4::text::bigint, " ROWS_MAX ")"
#define MG_SQL_CLIENT_BEHIND                                                                                 \
    "behind AS MATERIALIZED (SELECT 'infinity'::timestamptz AS at, '' AS id WHERE $3::text = ''"             \
    "  UNION ALL SELECT 'epoch'::timestamptz + split_part($3::text, '/', 1)::bigint * interval '1 microsecond'," \
    "   split_part($3::text, '/', 2) WHERE $3::text <> '')"
#define MG_SQL_IS_BEHIND(time, id)                                                                           \
    "(" time ", " id ") < ((SELECT at FROM behind), (SELECT id FROM behind))"
/* `seen` has order_id and at; it reads `count` rows at most. */
#define MG_SQL_CLIENT_PAGE(before, seen, count, is_wanted)                                                   \
    "WITH " MG_SQL_CLIENT_BEHIND ", " before "seen AS MATERIALIZED (" seen " LIMIT " count "),"              \
    " shown AS MATERIALIZED (SELECT p.*, s.at FROM (SELECT * FROM seen ORDER BY at DESC, order_id DESC) s"   \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p"        \
    "  WHERE ($2::text = '' OR p.process_state = $2::text) AND " is_wanted                                   \
    "  ORDER BY s.at DESC, s.order_id DESC LIMIT " MG_SQL_CLIENT_LIMIT ")"                                   \
    " SELECT json_build_object("                                                                             \
    "  'orders', (SELECT coalesce(json_agg(" MG_PAGE_ORDER("s") " ORDER BY s.at DESC, s.order_id DESC), '[]') FROM shown s)," \
    "  'next', CASE WHEN (SELECT count(*) FROM shown) = " MG_SQL_CLIENT_LIMIT " THEN " MG_SQL_PAGE_CURSOR("shown") \
    "   WHEN (SELECT count(*) FROM seen) = " count " THEN " MG_SQL_PAGE_CURSOR("seen") " END) AS page"
/* A repaired order has several rows; the first that names the client counts. */
#define MG_SQL_CLIENT_ORDERS                                                                                 \
    "SELECT o.order_id, o.received_at AS at FROM orders o"                                                   \
    " WHERE o.client COLLATE \"C\" = $1::text AND o.client <> '' AND " MG_SQL_IS_BEHIND("o.received_at", "o.order_id") \
    "  AND (o.revision = 1 OR NOT EXISTS (SELECT FROM orders e"                                              \
    "   WHERE e.order_id = o.order_id AND e.client = o.client AND e.revision < o.revision))"                 \
    " ORDER BY o.received_at DESC, o.order_id DESC"
#define MG_SQL_PAGE_OF_CLIENT                                                                                \
    MG_SQL_CLIENT_PAGE("", MG_SQL_CLIENT_ORDERS,                                                             \
                       "CASE WHEN $2::text = '' THEN " MG_SQL_CLIENT_LIMIT " ELSE " MG_PAGE_CLIENT_MAX " END", "true")
/* One of them. $1 client, $2 order_id. */
#define MG_ORDER_OF_CLIENT                                                                                   \
    "SELECT p.order_id, p.workflow, p.workflow_version, p.process_state AS state, p.goal, p.reason, p.failure_count," \
    "  " ISO("p.created_at") " AS created_at, " ISO("p.updated_at") " AS updated_at,"                        \
    "  " ISO("p.complete_by") " AS complete_by, p.version, " MG_SQL_LABELS_OF("p.order_id") " AS labels,"    \
    "  CASE WHEN p.process_state = 'processed' THEN makegood_last_status(p.order_id, 'processed')->'output' END AS output," \
    "  p.failure::json AS cause"                                                                             \
    " FROM order_process p WHERE p.order_id = $2::text AND " MG_SQL_IS_OF_CLIENT("p", "$1")
/* Its statuses behind one. $1 client, $2 order_id, $3 seq, $4 version, $5 limit. */
#define MG_STATUSES_OF_CLIENT                                                                                \
    "SELECT p.process_state AS state, s.version, s.seq, s.status, s.body FROM order_process p"               \
    " LEFT JOIN LATERAL (SELECT e.version, (t.body->>'seq')::bigint AS seq, t.body->>'status' AS status, t.body" \
    "  FROM order_event e, json_array_elements(e.statuses) WITH ORDINALITY AS t(body, nth)"                  \
    "  WHERE e.order_id = p.order_id AND e.version >= $4::text::bigint"                                      \
    "   AND (t.body->>'seq')::bigint > $3::text::bigint"                                                     \
    "  ORDER BY e.version, t.nth LIMIT least($5::text::bigint, " ROWS_MAX ")) s ON true"                     \
    " WHERE p.order_id = $2::text AND " MG_SQL_IS_OF_CLIENT("p", "$1") " ORDER BY s.version, s.seq"
/* What submissions meet: $1 order ids, $2 their workflows, $3 the versions of these or 0 for the newest. A row for each, in
 * their order. */
#define MG_SUBMISSIONS_MEET                                                                                  \
    "SELECT p.process_state AS state, p.client, p.digest,"                                                   \
    "  (SELECT max(w.version) FROM workflow w WHERE w.name = s.workflow AND s.version IN (0, w.version)) AS workflow_version" \
    " FROM unnest(string_to_array($1::text, ' '), string_to_array($2::text, ' '),"                           \
    "   string_to_array($3::text, ' ')::bigint[]) WITH ORDINALITY AS s(order_id, workflow, version, nth)"    \
    " LEFT JOIN LATERAL (SELECT q.process_state, o.client, encode(o.digest, 'hex') AS digest"                \
    "  FROM order_process q LEFT JOIN orders o ON o.order_id = q.order_id AND o.revision = q.revision"       \
    "  WHERE q.order_id = s.order_id OFFSET 0) p ON true ORDER BY s.nth"

/* clang-format on */

#endif
