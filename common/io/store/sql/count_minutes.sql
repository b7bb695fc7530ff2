-- Adds the calls and orders that were counted since the last time to the present minute, and deletes minutes older than
-- an hour. A process that is not known yet counts from 0 if it began moments ago; otherwise from its first report on.
-- Nothing happens if (epoch, holder) does not lead.
-- In this folder: psql -f count_minutes.sql, with the values below.
\set epoch '1'
\set holder 'me'

WITH clock AS MATERIALIZED (
        SELECT clock_timestamp() AS now
        FROM supervisor_leader
        WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
    ),
    reported AS MATERIALIZED (
        SELECT s.service AS subject, s.instance, s.process,
            ARRAY[(s.calls->>'count')::bigint, (s.calls->>'failed')::bigint] || (
                SELECT array_agg(w.calls::bigint ORDER BY w.n)
                FROM json_array_elements_text(s.calls->'within') WITH ORDINALITY AS w (calls, n)
            ) || (
                -- of an agent of schema 44 and below: none
                SELECT (s.calls->>'refused')::bigint || array_agg(d.calls::bigint ORDER BY d.n)
                FROM json_array_elements_text(s.calls->'durations') WITH ORDINALITY AS d (calls, n)
                HAVING count(*) > 0
            ) AS counts,
            timestamptz 'epoch' + s.process * interval '1 ms' > c.now - interval '30 s' AS is_new
        FROM service_state s, clock c
        WHERE s.calls IS NOT NULL AND s.reported_at BETWEEN c.now - interval '15 s' AND c.now + interval '15 s'
        UNION ALL
        SELECT '', p.instance, 0, p.orders, p.started_at > c.now - interval '30 s'
        FROM process_state p, clock c
        WHERE p.kind = 'scheduler' AND p.orders IS NOT NULL
            AND p.seen_at BETWEEN c.now - interval '15 s' AND c.now + interval '15 s'
    ),
    added AS MATERIALIZED (
        SELECT a.subject, array_agg(a.count ORDER BY a.n) AS counts
        FROM (
            SELECT r.subject, u.n,
                sum(greatest(u.now - CASE WHEN k.counts IS NULL THEN 0 ELSE u.before END, 0))::bigint AS count
            FROM reported r
            LEFT JOIN counted_process k USING (subject, instance, process)
            CROSS JOIN LATERAL unnest(r.counts, k.counts) WITH ORDINALITY AS u (now, before, n)
            WHERE CASE WHEN k.counts IS NULL THEN r.is_new ELSE r.counts <> k.counts END
            GROUP BY r.subject, u.n
        ) a
        GROUP BY a.subject
    ),
    remembered AS (
        INSERT INTO counted_process AS k (subject, instance, process, counts, seen_at)
        SELECT r.subject, r.instance, r.process, r.counts, c.now
        FROM reported r, clock c
        ON CONFLICT (subject, instance) DO UPDATE
        SET process = excluded.process, counts = excluded.counts, seen_at = excluded.seen_at
        RETURNING 1
    ),
    forgotten AS (
        DELETE FROM counted_process k
        USING clock c
        WHERE k.seen_at < c.now - interval '1 hour'
            AND NOT EXISTS (SELECT FROM reported r WHERE r.subject = k.subject AND r.instance = k.instance)
        RETURNING 1
    ),
    gone AS (
        DELETE FROM minute_count m
        USING clock c
        WHERE m.minute < date_trunc('minute', c.now) - interval '1 hour' OR m.minute > c.now + interval '1 minute'
        RETURNING 1
    ),
    written AS (
        INSERT INTO minute_count AS m (subject, minute, counts)
        SELECT a.subject, date_trunc('minute', c.now), a.counts
        FROM added a, clock c
        ON CONFLICT (subject, minute) DO UPDATE
        SET counts = (
                SELECT array_agg(coalesce(u.before, 0) + coalesce(u.more, 0) ORDER BY u.n)
                FROM unnest(m.counts, excluded.counts) WITH ORDINALITY AS u (before, more, n)
            )
        RETURNING 1
    )
SELECT (SELECT count(*) FROM remembered) AS processes, (SELECT count(*) FROM written) AS subjects,
    (SELECT count(*) FROM gone) + (SELECT count(*) FROM forgotten) AS deleted;
