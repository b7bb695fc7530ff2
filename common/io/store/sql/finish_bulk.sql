-- Counts the orders of a bulk action that has just begun, and records its operator. Returns this action, or the open
-- one of the same verb and filter.
-- In this folder: psql -f finish_bulk.sql, with the values below.
\set bulk_id 'b-1'
\set verb 'resume'
\set filter '{}'
\set workflow ''
\set step ''
\set error ''
\set services ''
\set since ''
\set until ''
\set orders '10'
\set labels ''
\set failures `cat parts/failures.sql`
\set failure_wanted `cat parts/failure_wanted.sql`
\set rarest `cat parts/rarest.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind true
\set chosen `cat parts/bulk_chosen.sql`

WITH made AS (
        UPDATE bulk b
        SET orders = o.count, waiting = o.count, state = CASE WHEN o.count = 0 THEN 'done' ELSE b.state END,
            ended_at = CASE WHEN o.count = 0 THEN clock_timestamp() END
        FROM (SELECT count(*) FROM bulk_order WHERE bulk_id = :'bulk_id'::text) o
        WHERE b.bulk_id = :'bulk_id'::text AND b.orders IS NULL
        RETURNING b.*
    ),
    noted AS (
        INSERT INTO operator_action (by_whom, verb, subject, reason, detail)
        SELECT by_whom, 'bulk start', bulk_id, reason,
            json_build_object(
                'verb', verb, 'filter', filter::json, 'canary', canary, 'rate_per_s', rate_per_s, 'stop_percent', stop_percent,
                'orders', orders
            )
        FROM made
    ),
    known AS (
        SELECT bulk_id, state, orders, 1 AS rank
        FROM bulk
        WHERE bulk_id = :'bulk_id'::text
        UNION ALL
        SELECT bulk_id, state, orders, 2
        FROM bulk
        WHERE verb = :'verb'::text AND filter = :'filter'::text AND state IN ('canary', 'running', 'paused')
        ORDER BY rank
        LIMIT 1
    )
SELECT k.bulk_id, EXISTS (SELECT FROM made), coalesce((SELECT state FROM made), k.state),
    coalesce(
        (SELECT orders FROM made), k.orders,
        CASE WHEN :'orders'::bigint > 0 AND k.bulk_id IS NULL THEN (SELECT count(DISTINCT c.order_id) FROM (:chosen) c) END
    ),
    (SELECT count(*) FROM bulk WHERE ended_at IS NULL)
FROM (SELECT) one
LEFT JOIN known k ON true;
