-- Orders with statuses due for a retry: one of each queue that takes nothing, many of one that takes them. Half of
-- the retries are shared among the clients that have any, at least one each; the rest are the oldest of all. So no
-- client's dead queues delay another's, however many they are. At most 100 of these queues are tried at once: 400 a
-- second, some hundredths of a core. by_key.sql is sent before it.
-- In this folder: psql -f ask_owed.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set limit '500'
\set ask_again_ms '2000'
\set keys '{}'
\if :{?taken}
\else
\set taken `cat parts/all_but.sql`
\endif
\if :{?oldest}
\else
\set oldest `cat parts/owed_of_queues.sql`
\endif

WITH RECURSIVE clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    leader AS MATERIALIZED (
        SELECT name
        FROM supervisor_leader
        WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
        FOR SHARE
    ),
    -- No retry yet: owed since the commit, or marked by an older program. An event may be owed from its commit on;
    -- its scheduler has a second to send the statuses. Asked for shortly before: the answer is on its way. A time in
    -- the future comes from a clock that was ahead, and does not count.
    stray AS MATERIALIZED (
        SELECT e.order_id, e.version
        FROM (
            SELECT order_id, version, at, owed_asked_at
            FROM order_event
            WHERE owed AND owed_to IS NULL AND EXISTS (SELECT FROM leader) AND :taken
            ORDER BY at, order_id, version
            LIMIT :'limit'::bigint
            FOR NO KEY UPDATE SKIP LOCKED
        ) e
        CROSS JOIN clock k
        WHERE (e.at <= k.now - interval '1 second' OR e.at > k.now + interval '1 second')
            AND NOT coalesce(
                e.owed_asked_at > k.now - :'ask_again_ms'::bigint * interval '1 millisecond' AND e.owed_asked_at <= k.now, false
            )
    ),
    -- Clients have shares only if not all due queues find a place.
    crowd AS MATERIALIZED (
        SELECT ask_at
        FROM reply_queue
        WHERE ask_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader)
        ORDER BY ask_at, name
        LIMIT 100 + 1
    ),
    -- Walks from client to client along the index, with the oldest queue of each. Further clients than there are
    -- retries to share compete by age.
    client AS (
        (
            SELECT client, ask_at, 1 AS nth
            FROM reply_queue
            WHERE (SELECT count(*) FROM crowd) > least(:'limit'::bigint, 100)
            ORDER BY client, ask_at
            LIMIT 1
        )
        UNION ALL
        SELECT n.client, n.ask_at, c.nth + 1
        FROM client c
        CROSS JOIN LATERAL (SELECT client, ask_at FROM reply_queue WHERE client > c.client ORDER BY client, ask_at LIMIT 1) n
        WHERE c.nth < 50
    ),
    share AS MATERIALIZED (
        SELECT q.name, q.marks
        FROM (
            SELECT client, greatest(least(:'limit'::bigint, 100) / 2 / count(*) OVER (), 1) AS most
            FROM client
            WHERE ask_at <= (SELECT now FROM clock)
        ) c
        CROSS JOIN LATERAL (
            SELECT name, marks
            FROM reply_queue
            -- A range, so that only the index on client fits: for an equal client a plan may filter a walk of
            -- reply_queue_ask.
            WHERE (client, ask_at) >= (c.client, '-infinity') AND (client, ask_at) <= (c.client, (SELECT now FROM clock))
            ORDER BY client, ask_at, name
            LIMIT c.most
            FOR NO KEY UPDATE SKIP LOCKED
        ) q
    ),
    due AS MATERIALIZED (
        SELECT name, marks
        FROM reply_queue
        WHERE ask_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader) AND name NOT IN (SELECT name FROM share)
        ORDER BY ask_at, name
        LIMIT greatest(least(:'limit'::bigint, 100) - (SELECT count(*) FROM share), 1)
        FOR NO KEY UPDATE SKIP LOCKED
    ),
    ahead AS MATERIALIZED (
        SELECT name, marks
        FROM reply_queue
        WHERE tried_at > (SELECT now FROM clock) AND ask_at > (SELECT now FROM clock) AND EXISTS (SELECT FROM leader)
        ORDER BY tried_at DESC, name DESC
        LIMIT least(:'limit'::bigint, 100)
        FOR NO KEY UPDATE SKIP LOCKED
    ),
    -- Joined again, to read the queues in the statement's snapshot, like the events.
    queue AS MATERIALIZED (
        SELECT q.name, q.is_open, count(*) FILTER (WHERE q.is_open) OVER () AS open_count,
            (SELECT true FROM order_event e WHERE e.owed AND e.owed_to = q.name ORDER BY e.at LIMIT 1) AS is_owed
        FROM (SELECT * FROM share UNION ALL SELECT * FROM due UNION ALL SELECT * FROM ahead) l
        JOIN reply_queue q ON q.name = l.name AND q.marks = l.marks
    ),
    -- While a queue takes nothing, one of its statuses is tried: another, if this one is passed by.
    oldest AS MATERIALIZED (:oldest),
    asked AS MATERIALIZED (
        SELECT order_id, min(version) AS version
        FROM (
            SELECT order_id, version
            FROM stray
            UNION ALL
            SELECT o.order_id, o.version
            FROM oldest o
            CROSS JOIN clock k
            WHERE NOT coalesce(
                o.owed_asked_at > k.now - :'ask_again_ms'::bigint * interval '1 millisecond' AND o.owed_asked_at <= k.now, false
            )
        ) o
        GROUP BY order_id
    ),
    -- An order's statuses go out together.
    event AS MATERIALIZED (
        SELECT e.order_id, e.version
        FROM asked a
        CROSS JOIN LATERAL (
            SELECT order_id, version
            FROM order_event
            WHERE order_id = a.order_id AND owed
            ORDER BY version
            LIMIT 64
            FOR NO KEY UPDATE SKIP LOCKED
        ) e
    ),
    remembered AS (
        UPDATE order_event e
        SET owed_asked_at = k.now
        FROM event n
        CROSS JOIN clock k
        WHERE e.order_id = n.order_id AND e.version = n.version
    ),
    -- The outcome delays the next retry or releases the others; a lost answer leads to a new retry.
    pushed AS (
        UPDATE reply_queue q
        SET tried_at = k.now, ask_at = k.now + :'ask_again_ms'::bigint * interval '1 millisecond', is_open = false
        FROM queue n
        CROSS JOIN clock k
        WHERE q.name = n.name AND n.is_owed
    ),
    forgotten AS (DELETE FROM reply_queue q USING queue n WHERE q.name = n.name AND n.is_owed IS NULL)
SELECT EXISTS (SELECT FROM leader), a.order_id, a.version, a.seq
FROM clock k
LEFT JOIN (SELECT a.order_id, a.version, p.seq FROM asked a JOIN order_process p USING (order_id)) a ON true
ORDER BY a.order_id;
