/*
 * Orders by their labels as SQL, for store/report.c, with its macros. `labels` is a parameter: JSON text, an
 * object of texts; all of them must match.
 */
#ifndef MG_IO_STORE_LABELS_H
#define MG_IO_STORE_LABELS_H

/* Number of orders counted for each label, to begin with the rarest. More are many. */
#define MG_LABEL_COUNT_MAX "10000"
/* Number of orders that a page reads, of the rarest label or open: some tenths of a second at most. */
#define MG_PAGE_LABELLED_MAX "10000"
/* Number of ids from the given text on that a search reads. The database's collation may put others among
 * those that begin with it. */
#define MG_FIND_IDS_MAX "10000"

/* clang-format off */

/* An order's labels as JSON. */
#define MG_SQL_LABELS_OF(order_id)                                                                           \
    "(SELECT coalesce(json_object_agg(l.name, l.value ORDER BY l.name), '{}') FROM order_label l"            \
    " WHERE l.order_id = " order_id ")"

/* Whether an order has all of the labels; '': any order. */
#define MG_SQL_HAS_LABELS(order_id, labels)                                                                  \
    "(" labels "::text = '' OR NOT EXISTS (SELECT FROM json_each_text(nullif(" labels "::text, '')::json) w" \
    " WHERE NOT EXISTS (SELECT FROM order_label l WHERE l.order_id = " order_id " AND l.name = w.key AND l.value = w.value)))"

#define MG_SQL_OPEN_STATES "('pending', 'processing', 'compensating')"
#define MG_SQL_IS_STATE_WANTED(state, wanted)                                                                \
    "CASE " wanted "::text WHEN '' THEN true WHEN 'open' THEN " state " IN " MG_SQL_OPEN_STATES             \
    " ELSE " state " = " wanted "::text END"

/*
 * A page of labelled orders, newest first. $1 state, $2 workflow, $3 since, $4 until, $5 cursor, $6 limit,
 * $7 labels. The cursor is the order last read, MICROSECONDS/ORDER, which stays valid after that order has left
 * for the archive; or the id of an order in the tables.
 *
 * `rarest` is the label with the fewest orders; `few`: open orders are wanted, and they are fewer than a page
 * reads. `seen` are the orders that the page reads: if few, all open ones; else those with the rarest label,
 * through the index order_label_value in its order. So a rare state behind a common label costs a page, not the
 * table. `shown` are those of them that are wanted.
 */
#define MG_SQL_RAREST                                                                                        \
    "rarest AS MATERIALIZED (SELECT w.key AS name, w.value FROM json_each_text($7::text::json) w"            \
    "  CROSS JOIN LATERAL (SELECT count(*) AS orders FROM (SELECT FROM order_label l"                        \
    "   WHERE l.value = w.value AND l.name = w.key"                                                          \
    "   LIMIT (SELECT CASE count(*) WHEN 1 THEN 0 ELSE " MG_LABEL_COUNT_MAX " END FROM json_object_keys($7::text::json))) c) c" \
    "  ORDER BY c.orders, w.key LIMIT 1)"
#define MG_SQL_BEHIND_CURSOR                                                                                 \
    "behind AS MATERIALIZED (SELECT 'infinity'::timestamptz AS at, '' AS id WHERE $5::text = ''"             \
    "  UNION ALL SELECT 'epoch'::timestamptz + split_part($5::text, '/', 1)::bigint * interval '1 microsecond'," \
    "   split_part($5::text, '/', 2) WHERE $5::text LIKE '%/%'"                                              \
    "  UNION ALL SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = $5::text)"
#define MG_SQL_FEW                                                                                           \
    "few AS MATERIALIZED (SELECT CASE WHEN $1::text = 'open' OR $1::text IN " MG_SQL_OPEN_STATES             \
    "  THEN (SELECT count(*) FROM (SELECT FROM order_process p WHERE p.wake_at IS NOT NULL"                  \
    "   ORDER BY p.wake_at LIMIT " MG_PAGE_LABELLED_MAX ") o) < " MG_PAGE_LABELLED_MAX " ELSE false END AS is_few)"
#define MG_SQL_IS_ON_PAGE(r)                                                                                 \
    MG_SQL_IS_WITHIN(r ".created_at", "$3", "$4")                                                            \
    " AND (" r ".created_at, " r ".order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))"
#define MG_SQL_SEEN                                                                                          \
    "seen AS MATERIALIZED (SELECT o.* FROM (SELECT p.order_id, p.created_at FROM order_process p"            \
    "   WHERE p.wake_at IS NOT NULL AND (SELECT is_few FROM few)"                                            \
    "   ORDER BY p.wake_at LIMIT " MG_PAGE_LABELLED_MAX ") o WHERE " MG_SQL_IS_ON_PAGE("o")                  \
    "  UNION ALL (SELECT l.order_id, l.created_at FROM order_label l"                                        \
    "   WHERE l.value = (SELECT value FROM rarest) AND l.name = (SELECT name FROM rarest)"                   \
    "    AND NOT (SELECT is_few FROM few) AND " MG_SQL_IS_ON_PAGE("l")                                       \
    "   ORDER BY l.created_at DESC, l.order_id DESC LIMIT " MG_PAGE_LABELLED_MAX "))"
#define MG_PAGE_LABELLED_CURSOR(f)                                                                           \
    "(SELECT (extract(epoch FROM " f ".created_at) * 1000000)::bigint || '/' || " f ".order_id FROM " f      \
    " ORDER BY " f ".created_at, " f ".order_id LIMIT 1)"
#define MG_SQL_PAGE_LABELLED                                                                                 \
    "WITH " MG_SQL_RAREST ", " MG_SQL_BEHIND_CURSOR ", " MG_SQL_FEW ", " MG_SQL_SEEN ","                     \
    " shown AS MATERIALIZED (SELECT p.* FROM (SELECT s.* FROM seen s ORDER BY s.created_at DESC, s.order_id DESC) s" \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p"        \
    "  WHERE " MG_SQL_IS_STATE_WANTED("p.process_state", "$1") " AND ($2::text = '' OR p.workflow = $2::text)" \
    "   AND " MG_SQL_HAS_LABELS("p.order_id", "$7")                                                          \
    "  ORDER BY s.created_at DESC, s.order_id DESC LIMIT least($6::text::bigint, " ROWS_MAX ")),"            \
    " counted AS (SELECT (SELECT count(*) FROM seen) AS seen, (SELECT count(*) FROM shown) AS shown),"       \
    " page AS (SELECT c.seen AS looked_at, (SELECT " ISO("min(s.created_at)") " FROM seen s) AS back_to,"    \
    "  CASE WHEN c.shown = least($6::text::bigint, " ROWS_MAX ") THEN " MG_PAGE_LABELLED_CURSOR("shown")     \
    "   WHEN c.seen = " MG_PAGE_LABELLED_MAX " THEN " MG_PAGE_LABELLED_CURSOR("seen") " END AS next FROM counted c)"

/* For the tool: its orders, each with the page; without an order one row with the page alone. */
#define MG_LIST_LABELLED                                                                                     \
    MG_SQL_PAGE_LABELLED                                                                                     \
    " SELECT s.order_id, s.workflow, s.process_state AS state, s.goal, s.reason, s.failure_count,"           \
    "  " ISO("s.created_at") " AS created_at, " ISO("s.updated_at") " AS updated_at,"                        \
    "  " ISO("s.complete_by") " AS complete_by, p.looked_at, p.back_to, p.next"                              \
    " FROM page p LEFT JOIN shown s ON true ORDER BY s.created_at DESC, s.order_id DESC"
/* For the console. */
#define MG_PAGE_LABELLED                                                                                     \
    MG_SQL_PAGE_LABELLED                                                                                     \
    " SELECT json_build_object("                                                                             \
    "  'orders', (SELECT coalesce(json_agg(" MG_PAGE_ORDER("s") " ORDER BY s.created_at DESC, s.order_id DESC), '[]') FROM shown s)," \
    "  'looked_at', p.looked_at, 'is_full', false, 'back_to', p.back_to, 'next', p.next) AS page FROM page p"

/*
 * $1 text, $2 limit: orders whose id begins with the text, in the tables and in the archive, and orders with a label of
 * this value, each kind up to the limit. The archive is read by id only: its labels are in the dossiers.
 */
#define MG_FIND                                                                                              \
    "WITH ids AS MATERIALIZED (SELECT i.order_id FROM (SELECT p.order_id FROM order_process p"               \
    "   WHERE p.order_id >= $1::text ORDER BY p.order_id LIMIT " MG_FIND_IDS_MAX ") i"                       \
    "  WHERE starts_with(i.order_id, $1::text) ORDER BY i.order_id LIMIT least($2::text::bigint, " ROWS_MAX "))," \
    " kept AS MATERIALIZED (SELECT a.* FROM (SELECT a.order_id, a.workflow, a.process_state, a.archived_on FROM order_archive a" \
    "   WHERE a.order_id >= $1::text ORDER BY a.order_id LIMIT " MG_FIND_IDS_MAX ") a"                       \
    "  WHERE starts_with(a.order_id, $1::text) ORDER BY a.order_id LIMIT least($2::text::bigint, " ROWS_MAX "))," \
    " named AS MATERIALIZED (SELECT l.order_id, l.name FROM order_label l WHERE l.value = $1::text"          \
    "  ORDER BY l.name DESC, l.created_at DESC, l.order_id DESC LIMIT least($2::text::bigint, " ROWS_MAX "))" \
    " SELECT f.found_by, p.order_id, p.workflow, p.process_state AS state, " ISO("p.created_at") " AS created_at,"                                             \
    "   NULL AS archived_on, NULL AS reason"                                                                 \
    "  FROM (SELECT 'id' AS found_by, order_id, 0 AS rank FROM ids"                                          \
    "   UNION ALL SELECT 'label ' || name, order_id, 1 FROM named) f"                                        \
    "  CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = f.order_id OFFSET 0) p"        \
    " UNION ALL SELECT 'id', k.order_id, k.workflow, k.process_state, NULL, k.archived_on::text, NULL FROM kept k"

/* clang-format on */

#endif
