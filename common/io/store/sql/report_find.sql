-- Orders with an id that begins with a text, in the tables and in the archive, and orders with a label of this value, each
-- kind up to the limit. The archive is read by id only: its labels are in the dossiers. The database's collation may
-- put other ids among those that begin with the text, so a bounded number of them is read.
-- In this folder: psql -f report_find.sql, with the values below.
\set text 'o-'
\set limit '20'

WITH ids AS MATERIALIZED (
        SELECT i.order_id
        FROM (SELECT p.order_id FROM order_process p WHERE p.order_id >= :'text'::text ORDER BY p.order_id LIMIT 10000) i
        WHERE starts_with(i.order_id, :'text'::text)
        ORDER BY i.order_id
        LIMIT least(:'limit'::text::bigint, 10000)
    ),
    kept AS MATERIALIZED (
        SELECT a.*
        FROM (
            SELECT a.order_id, a.workflow, a.process_state, a.archived_on
            FROM order_archive a
            WHERE a.order_id >= :'text'::text
            ORDER BY a.order_id
            LIMIT 10000
        ) a
        WHERE starts_with(a.order_id, :'text'::text)
        ORDER BY a.order_id
        LIMIT least(:'limit'::text::bigint, 10000)
    ),
    named AS MATERIALIZED (
        SELECT l.order_id, l.name
        FROM order_label l
        WHERE l.value = :'text'::text
        ORDER BY l.name DESC, l.created_at DESC, l.order_id DESC
        LIMIT least(:'limit'::text::bigint, 10000)
    )
SELECT f.found_by, p.order_id, p.workflow, p.process_state AS state,
    to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at, NULL AS archived_on, NULL AS reason
FROM (SELECT 'id' AS found_by, order_id, 0 AS rank FROM ids UNION ALL SELECT 'label ' || name, order_id, 1 FROM named) f
CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = f.order_id OFFSET 0) p
UNION ALL
SELECT 'id', k.order_id, k.workflow, k.process_state, NULL, k.archived_on::text, NULL
FROM kept k;
