-- Gives up the oldest statuses of queues, some of each. A queue without a name is that of the order's oldest owed
-- event.
-- by_key_soon.sql is sent before it.
-- In this folder: psql -f give_up.sql, with the values below.
\set queues '{shop}'
\set order_ids '{o-1}'
\set age_ms '0'
\set limit '500'

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    gone AS MATERIALIZED (
        SELECT u.name, e.order_id, e.version
        FROM (
            SELECT DISTINCT coalesce(
                name,
                (
                    SELECT e.owed_to
                    FROM order_event e
                    WHERE e.order_id = u.order_id AND e.owed AND e.owed_to IS NOT NULL
                    ORDER BY e.version
                    LIMIT 1
                )
            ) AS name
            FROM unnest(:'queues'::text[], :'order_ids'::text[]) AS u(name, order_id)
        ) u
        CROSS JOIN LATERAL (
            SELECT order_id, version
            FROM order_event
            WHERE owed AND owed_to = u.name AND at <= (SELECT now FROM clock) - :'age_ms'::bigint * interval '1 millisecond'
            ORDER BY at, order_id, version
            LIMIT :'limit'::bigint
            FOR NO KEY UPDATE SKIP LOCKED
        ) e
    ),
    given_up AS (
        UPDATE order_event e
        SET owed = false, owed_to = NULL, given_up_at = k.now
        FROM gone g
        CROSS JOIN clock k
        WHERE e.order_id = g.order_id AND e.version = g.version
        RETURNING g.name
    ),
    counted AS MATERIALIZED (SELECT name, count(*) AS number FROM given_up GROUP BY name),
    -- More are left: the next retry comes at once.
    hurried AS (
        UPDATE reply_queue q
        SET ask_at = k.now, tried_at = k.now
        FROM counted c
        CROSS JOIN clock k
        WHERE q.name = c.name AND c.number >= :'limit'::bigint
    )
-- Each queue of this call opens one more alert.
SELECT name, number,
    (
        SELECT count(*) FROM operator_alert WHERE code = 'statuses_given_up' AND closed_at IS NULL
    ) + row_number() OVER (ORDER BY name) - 1
FROM counted
ORDER BY name;
