-- Marks the statuses of events as owed, or as arrived. The queue is that of the order's current reply_to, which may
-- differ from the tried one: the lock orders this mark before or after a client's change of queue. A retry that could
-- not be read has no queue; it counts for that of the order's oldest owed event. A failed retry delays the next by a
-- sixteenth of the time in which the queue has taken nothing. So after an absence statuses arrive soon, and a client
-- that is gone for good costs next to nothing.
-- by_key_soon.sql is sent before it.
-- In this folder: psql -f mark_owed.sql, with the values below.
\set order_ids '{o-1}'
\set versions '{1}'
\set owed '{t}'
\set is_retry '{f}'
\set reply_to '{shop}'

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    -- The last mark of an event counts.
    mark AS MATERIALIZED (
        SELECT DISTINCT ON (order_id, version) order_id, version, owed, is_retry, reply_to
        FROM unnest(
            :'order_ids'::text[], :'versions'::bigint[], :'owed'::boolean[], :'is_retry'::boolean[], :'reply_to'::text[]
        ) WITH ORDINALITY AS u(order_id, version, owed, is_retry, reply_to, n)
        ORDER BY order_id, version, n DESC
    ),
    place AS MATERIALIZED (
        SELECT p.order_id, p.reply_to
        FROM order_process p
        WHERE p.order_id IN (SELECT order_id FROM mark WHERE owed)
        ORDER BY p.order_id COLLATE "C"
        FOR SHARE OF p
    ),
    -- Given-up statuses stay so, unless they have arrived after all.
    marked AS (
        UPDATE order_event e
        SET owed = w.owed, owed_asked_at = NULL, owed_to = CASE WHEN w.owed THEN coalesce(p.reply_to, w.reply_to) END,
            given_up_at = NULL
        FROM mark w
        LEFT JOIN place p USING (order_id)
        WHERE e.order_id = w.order_id AND e.version = w.version
            AND CASE
                WHEN NOT w.owed THEN e.owed OR e.given_up_at IS NOT NULL
                WHEN w.is_retry THEN e.owed AND e.owed_to IS DISTINCT FROM coalesce(p.reply_to, w.reply_to)
                ELSE NOT e.owed OR e.owed_to IS DISTINCT FROM coalesce(p.reply_to, w.reply_to) END
        RETURNING e.owed_to
    ),
    queue AS MATERIALIZED (
        SELECT name, bool_or(is_failing) AS is_failing, bool_or(is_later) AS is_later
        FROM (
            SELECT coalesce(
                reply_to,
                CASE WHEN owed AND is_retry THEN (
                    SELECT e.owed_to
                    FROM order_event e
                    WHERE e.order_id = mark.order_id AND e.owed AND e.owed_to IS NOT NULL
                    ORDER BY e.version
                    LIMIT 1
                ) END
            ) AS name,
                owed AS is_failing, owed AND is_retry AS is_later
            FROM mark
            UNION ALL
            SELECT owed_to, true, false
            FROM marked
        ) s
        WHERE name IS NOT NULL
        GROUP BY name
    )
-- `marks` of the new row is 1 if a retry failed; the update reads it. Ordered by name: all writers lock in this
-- order.
INSERT INTO reply_queue AS q (name, since, tried_at, ask_at, is_open, marks)
SELECT n.name, k.now, k.now, k.now + interval '1 second', NOT n.is_failing, CASE WHEN n.is_later THEN 1 ELSE 0 END
FROM queue n
CROSS JOIN clock k
WHERE n.is_failing OR EXISTS (SELECT FROM reply_queue o WHERE o.name = n.name)
ORDER BY n.name
ON CONFLICT (name) DO UPDATE SET marks = q.marks + 1, is_open = excluded.is_open,
    since = CASE WHEN excluded.is_open THEN excluded.since ELSE q.since END,
    -- If one of the two clocks was ahead, ask_at may be its own; then tried_at shows it, and the queue is asked for
    -- nevertheless.
    tried_at = CASE
        WHEN excluded.is_open THEN excluded.tried_at
        WHEN excluded.marks = 1 THEN greatest(q.tried_at, excluded.tried_at)
        ELSE q.tried_at END,
    ask_at = CASE
        WHEN excluded.is_open THEN excluded.tried_at
        WHEN excluded.marks = 1 THEN greatest(
            q.ask_at, excluded.tried_at + least((excluded.tried_at - q.since) / 16, interval '4 hours')
        )
        ELSE q.ask_at END;
