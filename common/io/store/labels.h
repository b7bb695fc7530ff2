/*
 * Orders by their labels as SQL, for store/report.c, with its macros. `labels` is a parameter: JSON text, an
 * object of texts; all of them must match.
 */
#ifndef MG_IO_STORE_LABELS_H
#define MG_IO_STORE_LABELS_H

/* Number of orders counted for each label, to begin with the rarest. As many are many. */
#define MG_LABEL_COUNT_MAX "10000"
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

/* The label with the fewest orders, up to a limit. */
#define MG_SQL_RAREST(labels, limit)                                                                         \
    "(SELECT w.key AS name, w.value, c.orders FROM json_each_text(nullif(" labels "::text, '')::json) w"     \
    " CROSS JOIN LATERAL (SELECT count(*) AS orders FROM (SELECT FROM order_label l"                         \
    "  WHERE l.value = w.value AND l.name = w.key LIMIT " limit ") c) c ORDER BY c.orders, w.key LIMIT 1)"
/* The same for many orders, of which few have the labels: most are passed by without a look at their labels. */
#define MG_SQL_IS_AMONG_LABELLED(order_id, labels)                                                           \
    "(CASE WHEN " labels "::text = '' THEN true"                                                             \
    " WHEN (SELECT r.orders FROM " MG_SQL_RAREST(labels, MG_LABEL_COUNT_MAX) " r) < " MG_LABEL_COUNT_MAX     \
    "  AND " order_id " NOT IN (SELECT l.order_id FROM " MG_SQL_RAREST(labels, MG_LABEL_COUNT_MAX) " r"      \
    "   CROSS JOIN LATERAL (SELECT l.order_id FROM order_label l WHERE l.value = r.value AND l.name = r.name" \
    "    LIMIT " MG_LABEL_COUNT_MAX ") l) THEN false"                                                        \
    " ELSE " MG_SQL_HAS_LABELS(order_id, labels) " END)"

/*
 * A page of labelled orders (store/pages.h); $7 labels. The orders of the rarest label are read, newest first, through
 * the index order_label_value. Of a label with many orders those that are amiss or open are read instead, if they are
 * wanted: a rare state behind a common label costs a page, not the table.
 */
#define MG_SQL_SEEN_LABELLED                                                                                 \
    "(SELECT l.order_id, l.created_at AS at, $2::text AS workflow FROM order_label l"                        \
    " WHERE l.value = (SELECT value FROM rarest) AND l.name = (SELECT name FROM rarest)"                     \
    "  AND " MG_SQL_IS_SOURCE("labelled") " AND " MG_SQL_IS_ON_PAGE("l.created_at", "l.order_id")            \
    " ORDER BY l.created_at DESC, l.order_id DESC LIMIT " MG_PAGE_NEWEST_MAX ")"
/* Without a choice nothing is counted. */
#define MG_SQL_RAREST_COUNTED                                                                                \
    "(SELECT CASE WHEN count(*) = 1 AND $1::text IN ('', 'processed') THEN 0 ELSE " MG_LABEL_COUNT_MAX " END" \
    " FROM json_object_keys($7::text::json))"
#define MG_SQL_PAGE_OF_LABELLED                                                                              \
    MG_SQL_PAGE("rarest AS MATERIALIZED " MG_SQL_RAREST("$7", MG_SQL_RAREST_COUNTED) ","                     \
                " source AS MATERIALIZED (SELECT CASE WHEN r.orders < " MG_LABEL_COUNT_MAX " THEN 'labelled'" \
                "  WHEN $1::text IN " MG_SQL_AMISS_STATES " THEN 'amiss'"                                    \
                "  WHEN " MG_SQL_IS_OPEN_AND_FEW " THEN 'open' ELSE 'labelled' END AS name FROM rarest r)",  \
                MG_SQL_SEEN_LABELLED " UNION ALL " MG_SQL_SEEN_AMISS " UNION ALL " MG_SQL_SEEN_OPEN,         \
                MG_SQL_IS_ANY_WANTED, MG_SQL_HAS_LABELS("p.order_id", "$7"))
/* The same of one client, for the gateway; $5 labels. */
#define MG_SQL_LABELS_OF_CLIENT(name, value)                                                                 \
    "FROM order_label l WHERE l.client = $1::text AND l.client <> '' AND l.value = " value " AND l.name = " name
#define MG_SQL_RAREST_OF_CLIENT                                                                              \
    "rarest AS MATERIALIZED (SELECT w.key AS name, w.value FROM json_each_text($5::text::json) w"            \
    " CROSS JOIN LATERAL (SELECT count(*) AS orders FROM (SELECT " MG_SQL_LABELS_OF_CLIENT("w.key", "w.value") \
    "  LIMIT " MG_PAGE_CLIENT_MAX ") c) c ORDER BY c.orders, w.key LIMIT 1), "
#define MG_SQL_PAGE_OF_CLIENT_LABELLED                                                                       \
    MG_SQL_CLIENT_PAGE(MG_SQL_RAREST_OF_CLIENT,                                                              \
                       "SELECT l.order_id, l.created_at AS at "                                              \
                       MG_SQL_LABELS_OF_CLIENT("(SELECT name FROM rarest)", "(SELECT value FROM rarest)")    \
                       " AND " MG_SQL_IS_BEHIND("l.created_at", "l.order_id")                                \
                       " ORDER BY l.created_at DESC, l.order_id DESC",                                       \
                       MG_PAGE_CLIENT_MAX, MG_SQL_HAS_LABELS("p.order_id", "$5"))

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
