-- The orders that ask_owed would take, some more.
-- In this folder: psql -f ask_owed_keys.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set limit '500'
\set ask_again_ms '2000'
\set keys '{}'

WITH unused AS (SELECT :'epoch'::bigint, :'holder'::text, :'ask_again_ms'::bigint) (
        SELECT order_id
        FROM order_event
        WHERE owed AND owed_to IS NULL AND order_id <> ALL (:'keys'::text[])
        ORDER BY at, order_id, version
        LIMIT :'limit'::bigint
    )
UNION (
    SELECT e.order_id
    FROM (
        SELECT name, is_open
        FROM reply_queue
        WHERE ask_at <= clock_timestamp() OR tried_at > clock_timestamp()
        ORDER BY ask_at, name
        LIMIT 2 * 100
    ) q
    CROSS JOIN LATERAL (
        SELECT order_id
        FROM order_event
        WHERE owed AND owed_to = q.name AND order_id <> ALL (:'keys'::text[])
        ORDER BY at, order_id, version
        LIMIT CASE WHEN q.is_open THEN :'limit'::bigint ELSE 1 END
    ) e
    LIMIT 2 * :'limit'::bigint
);
