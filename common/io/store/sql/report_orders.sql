-- A page of orders, newest first: of all, or of one client; by state ('open': any of the open states), workflow, time and
-- labels (JSON, an object of texts, which must all match). '' means any. The cursor is the order last read,
-- MICROSECONDS/ORDER, which stays valid after that order has left for the archive; or the id of an order in the tables.
-- Each row has its order, if there is one, and the page: orders read, the time of the oldest of them, and the next cursor.
--
-- `seen` are the orders that a page reads, from one source; `shown` are those of them that are wanted. A page without a
-- match has a cursor, so that a rare state or workflow costs pages, and each of them is bounded.
--   newest           all orders, by the index orders_received. Without state and workflow no more than are shown. An order
--                    without a row in order_process has just left
--   amiss            orders that turned back or need an operator, by the index order_process_reason. Of these states the
--                    core leaves no order without a reason
--   open             all open orders, if an open state is wanted and they are fewer than a page reads
--   labelled         the orders of the rarest label, by the index order_label_value. Of a label with many orders those that
--                    are amiss or open are read instead, if they are wanted: a rare state next to a common label costs a
--                    page, not the table
--   client           orders of the client, by the index orders_client
--   client labelled  the same of its rarest label, by the index order_label_client
-- With a client no row of another one is read, so neither a page nor its cursor nor its time depends on others.
-- In this folder: psql -f report_orders.sql, with the values below.
\set state ''
\set workflow ''
\set since ''
\set until ''
\set cursor ''
\set limit '50'
\set labels ''
\set client ''
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\if :{?waits}
\else
\set waits `cat parts/waits.sql`
\endif

WITH rarest AS MATERIALIZED (
        -- Without a choice nothing is counted.
        SELECT w.key AS name, w.value, c.orders
        FROM json_each_text(nullif(:'labels'::text, '')::json) w
        CROSS JOIN LATERAL (
            SELECT count(*) AS orders
            FROM (
                SELECT
                FROM order_label l
                WHERE l.value = w.value AND l.name = w.key
                LIMIT (
                    SELECT CASE WHEN count(*) = 1 AND :'state'::text IN ('', 'processed') THEN 0 ELSE 10000 END
                    FROM json_object_keys(nullif(:'labels'::text, '')::json)
                )
            ) c
        ) c
        WHERE :'client'::text = ''
        UNION ALL
        SELECT w.key, w.value, c.orders
        FROM json_each_text(nullif(:'labels'::text, '')::json) w
        CROSS JOIN LATERAL (
            SELECT count(*) AS orders
            FROM (
                SELECT
                FROM order_label l
                WHERE l.client = :'client'::text AND l.client <> '' AND l.value = w.value AND l.name = w.key
                LIMIT 1000
            ) c
        ) c
        WHERE :'client'::text <> ''
        ORDER BY orders, name
        LIMIT 1
    ),
    source AS MATERIALIZED (
        SELECT CASE
            WHEN :'client'::text <> '' AND :'labels'::text <> '' THEN 'client labelled'
            WHEN :'client'::text <> '' THEN 'client'
            WHEN (SELECT r.orders FROM rarest r) < 10000 THEN 'labelled'
            WHEN :'state'::text IN ('compensating', 'compensated', 'cancelled', 'error') THEN 'amiss'
            WHEN (:'state'::text = 'open' OR :'state'::text IN ('pending', 'processing', 'compensating'))
                AND (
                    SELECT count(*)
                    FROM (SELECT FROM order_process p WHERE p.wake_at IS NOT NULL ORDER BY p.wake_at LIMIT 10000) o
                ) < 10000
            THEN 'open'
            WHEN :'labels'::text <> '' THEN 'labelled'
            ELSE 'newest' END AS name
    ),
    behind AS MATERIALIZED (
        SELECT 'infinity'::timestamptz AS at, '' AS id
        WHERE :'cursor'::text = ''
        UNION ALL
        SELECT 'epoch'::timestamptz + nullif(split_part(:'cursor'::text, '/', 1), '')::bigint * interval '1 microsecond',
            split_part(:'cursor'::text, '/', 2)
        WHERE :'cursor'::text LIKE '%/%'
        UNION ALL
        SELECT
            coalesce(
                (
                    SELECT o.received_at
                    FROM orders o
                    WHERE o.order_id = a.order_id AND o.revision = 1 AND (SELECT s.name FROM source s) = 'newest'
                ),
                a.created_at
            ),
            a.order_id
        FROM order_process a
        WHERE a.order_id = :'cursor'::text
    ),
    seen AS MATERIALIZED (
        (
            SELECT o.order_id, o.received_at AS at, o.workflow
            FROM orders o
            WHERE o.revision = 1 AND (SELECT s.name FROM source s) = 'newest'
                AND o.received_at >= :since_at AND o.received_at < :until_at
                AND (o.received_at, o.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))
            ORDER BY o.received_at DESC, o.order_id DESC
            LIMIT CASE
                WHEN :'state'::text = '' AND :'workflow'::text = '' THEN least(:'limit'::text::bigint, 10000) ELSE 10000 END
        )
        UNION ALL
        (
            SELECT p.order_id, p.created_at AS at, :'workflow'::text AS workflow
            FROM order_process p
            WHERE p.reason <> 'none' AND (SELECT s.name FROM source s) = 'amiss'
                AND p.created_at >= :since_at AND p.created_at < :until_at
                AND (p.created_at, p.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))
            ORDER BY p.created_at DESC, p.order_id DESC
            LIMIT 10000
        )
        UNION ALL
        SELECT o.order_id, o.created_at AS at, o.workflow
        FROM (
            (
                SELECT p.order_id, p.created_at, p.workflow
                FROM order_process p
                WHERE p.wake_at IS NOT NULL AND (SELECT s.name FROM source s) = 'open'
                ORDER BY p.wake_at
                LIMIT 10000
            )
            UNION ALL
            -- An order in doubt that only a person can settle may have no moment at which it wakes; it has an alert.
            SELECT p.order_id, p.created_at, p.workflow
            FROM (
                SELECT DISTINCT d.order_id
                FROM (
                    SELECT a.order_id
                    FROM operator_alert a
                    WHERE a.code = 'outcome_unknown' AND a.closed_at IS NULL AND (SELECT s.name FROM source s) = 'open'
                    ORDER BY a.code, a.subject
                    LIMIT 10000
                ) d
                UNION ALL
                -- So may one that waits in the line of its key.
                SELECT q.order_id
                FROM (
                    SELECT q.order_id FROM sequence_place q WHERE (SELECT s.name FROM source s) = 'open' LIMIT 10000
                ) q
            ) d
            CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = d.order_id OFFSET 0) p
            WHERE p.wake_at IS NULL
        ) o
        WHERE o.created_at >= :since_at AND o.created_at < :until_at
            AND (o.created_at, o.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))
        UNION ALL
        (
            SELECT l.order_id, l.created_at AS at, :'workflow'::text AS workflow
            FROM order_label l
            WHERE l.value = (SELECT value FROM rarest) AND l.name = (SELECT name FROM rarest)
                AND (SELECT s.name FROM source s) = 'labelled'
                AND l.created_at >= :since_at AND l.created_at < :until_at
                AND (l.created_at, l.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))
            ORDER BY l.created_at DESC, l.order_id DESC
            LIMIT 10000
        )
        UNION ALL
        -- A repaired order has several rows; the first that names the client counts.
        (
            SELECT o.order_id, o.received_at AS at, o.workflow
            FROM orders o
            WHERE o.client COLLATE "C" = :'client'::text AND o.client <> '' AND (SELECT s.name FROM source s) = 'client'
                AND o.received_at >= :since_at AND o.received_at < :until_at
                AND (o.received_at, o.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))
                AND (
                    o.revision = 1
                    OR NOT EXISTS (
                        SELECT
                        FROM orders e
                        WHERE e.order_id = o.order_id AND e.client = o.client AND e.revision < o.revision
                    )
                )
            ORDER BY o.received_at DESC, o.order_id DESC
            LIMIT CASE
                WHEN :'state'::text = '' AND :'workflow'::text = '' THEN least(:'limit'::text::bigint, 10000) ELSE 1000 END
        )
        UNION ALL
        (
            SELECT l.order_id, l.created_at AS at, :'workflow'::text AS workflow
            FROM order_label l
            WHERE l.client = :'client'::text AND l.client <> ''
                AND l.value = (SELECT value FROM rarest) AND l.name = (SELECT name FROM rarest)
                AND (SELECT s.name FROM source s) = 'client labelled'
                AND l.created_at >= :since_at AND l.created_at < :until_at
                AND (l.created_at, l.order_id) < ((SELECT at FROM behind), (SELECT id FROM behind))
            ORDER BY l.created_at DESC, l.order_id DESC
            LIMIT 1000
        )
    ),
    shown AS MATERIALIZED (
        SELECT p.*, s.at
        FROM (
            SELECT s.*
            FROM seen s
            WHERE :'workflow'::text = '' OR s.workflow = :'workflow'::text
            ORDER BY s.at DESC, s.order_id DESC
        ) s
        CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p
        WHERE CASE :'state'::text
            WHEN '' THEN true
            WHEN 'open' THEN p.process_state IN ('pending', 'processing', 'compensating')
            ELSE p.process_state = :'state'::text END
            AND (:'workflow'::text = '' OR p.workflow = :'workflow'::text)
            AND (
                :'labels'::text = ''
                OR NOT EXISTS (
                    SELECT
                    FROM json_each_text(nullif(:'labels'::text, '')::json) w
                    WHERE NOT EXISTS (
                        SELECT FROM order_label l WHERE l.order_id = p.order_id AND l.name = w.key AND l.value = w.value
                    )
                )
            )
        ORDER BY s.at DESC, s.order_id DESC
        LIMIT least(:'limit'::text::bigint, 10000)
    ),
    counted AS (
        -- `most`: as many as the source reads at most. If it has read these, there may be more.
        SELECT (SELECT count(*) FROM seen) AS seen, (SELECT count(*) FROM shown) AS shown,
            CASE
                WHEN s.name IN ('newest', 'client') AND :'state'::text = '' AND :'workflow'::text = ''
                THEN least(:'limit'::text::bigint, 10000)
                WHEN s.name IN ('client', 'client labelled') THEN 1000
                ELSE 10000 END AS most
        FROM source s
    ),
    page AS (
        SELECT c.seen AS looked_at,
            (SELECT to_char(min(s.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM seen s) AS back_to,
            CASE
                WHEN c.shown = least(:'limit'::text::bigint, 10000) THEN (
                    SELECT (extract(epoch FROM greatest(shown.at, 'epoch')) * 1000000)::bigint || '/' || shown.order_id
                    FROM shown
                    ORDER BY shown.at, shown.order_id
                    LIMIT 1
                )
                WHEN c.seen = c.most THEN (
                    SELECT (extract(epoch FROM greatest(seen.at, 'epoch')) * 1000000)::bigint || '/' || seen.order_id
                    FROM seen
                    ORDER BY seen.at, seen.order_id
                    LIMIT 1
                )
            END AS next
        FROM counted c
    )
SELECT s.order_id, s.workflow, s.process_state AS state, s.goal, s.reason, s.failure_count,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(s.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
    to_char(s.complete_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS complete_by,
    (SELECT q.key FROM sequence_place q WHERE q.order_id = s.order_id ORDER BY q.place DESC LIMIT 1) AS line,
    w.waits_step, w.waits_service, w.waits_reason, w.failed_step, w.failed_error, p.looked_at, p.back_to, p.next
FROM page p
LEFT JOIN shown s ON true
LEFT JOIN LATERAL (:waits) w ON true
ORDER BY s.at DESC, s.order_id DESC;
