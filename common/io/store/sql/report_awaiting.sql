-- Steps that wait for a signal, the longest first: of all orders or of one, by signal and workflow. '' means any. The
-- cursor is the step last read, SINCE/ORDER/POSITION. Each row has its step, if there is one, and the next cursor. A page
-- without a match has a cursor, so that a rare signal costs pages, and each of them is bounded. A wanted step is told by
-- its name and its place in a definition, without a look at its order; for a signal of no definition no step is read.
--
-- What is asked, and how long the step waits, stands in its definition; of a damaged one these columns are NULL.
-- `payload` is that of the order if it has no more than $payload_max bytes; 0: never. `shown` names the question for the
-- schedulers, as mg_shown_make does: an answer to another one is refused.
-- In this folder: psql -f report_awaiting.sql, with the values below.
\set signal ''
\set workflow ''
\set order_id ''
\set cursor ''
\set limit '50'
\set payload_max '16384'

WITH passed AS MATERIALIZED (
        SELECT split_part(:'cursor'::text, '/', 1) AS since, split_part(:'cursor'::text, '/', 2) AS id,
            coalesce(nullif(split_part(:'cursor'::text, '/', 3), '')::bigint, 0) AS position,
            :'signal'::text = '' AND :'workflow'::text = '' AS is_all
    ),
    wanted AS MATERIALIZED (
        SELECT e.step->>'step' AS step, e.number - 1 AS position
        FROM workflow w
        CROSS JOIN LATERAL makegood_elements(makegood_json(w.definition), 'steps') WITH ORDINALITY AS e (step, number)
        WHERE NOT (SELECT is_all FROM passed) AND :'workflow'::text IN ('', w.name)
            AND :'signal'::text IN ('', e.step->'wait'->>'signal')
    ),
    -- In the order of the index, so that a page ends with its last match: after 50000 steps at the latest.
    matched AS MATERIALIZED (
        (
            SELECT *
            FROM (
                SELECT s.order_id, s.position, s.step, ((s.open::json)->>'since') COLLATE "C" AS since
                FROM order_step s
                WHERE s.open IS NOT NULL AND s.reason = 'awaiting_signal' AND :'order_id'::text = ''
                    AND (((s.open::json)->>'since') COLLATE "C", s.order_id, s.position)
                        > ((SELECT since FROM passed), (SELECT id FROM passed), (SELECT position FROM passed))
                ORDER BY ((s.open::json)->>'since') COLLATE "C", s.order_id, s.position
                LIMIT CASE WHEN (SELECT is_all FROM passed) OR EXISTS (SELECT FROM wanted) THEN 50000 ELSE 0 END
            ) s
            WHERE (SELECT is_all FROM passed) OR (step, position) IN (SELECT step, position FROM wanted)
            ORDER BY since, order_id, position
            LIMIT least(:'limit'::text::bigint, 10000)
        )
        UNION ALL
        SELECT s.order_id, s.position, s.step, (s.open::json)->>'since'
        FROM order_step s
        WHERE s.order_id = nullif(:'order_id'::text, '') AND s.reason = 'awaiting_signal'
    ),
    placed AS MATERIALIZED (
        SELECT s.*, t.due_at, t.open, t.attempt, p.workflow, p.workflow_version, p.revision
        FROM matched s
        JOIN order_step t ON t.order_id = s.order_id AND t.step = s.step
        CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = s.order_id OFFSET 0) p
        WHERE :'workflow'::text = '' OR p.workflow = :'workflow'::text
    ),
    waits AS MATERIALIZED (
        SELECT w.name, w.version, e.number - 1 AS position, e.step->'wait' AS wait
        FROM (SELECT DISTINCT workflow, workflow_version FROM placed) d
        JOIN workflow w ON w.name = d.workflow AND w.version = d.workflow_version
        CROSS JOIN LATERAL makegood_elements(makegood_json(w.definition), 'steps') WITH ORDINALITY AS e (step, number)
    ),
    shown AS MATERIALIZED (
        SELECT p.*, w.wait, makegood_json(p.open)->'signals' AS signals
        FROM placed p
        LEFT JOIN waits w ON w.name = p.workflow AND w.version = p.workflow_version AND w.position = p.position
        WHERE :'signal'::text = '' OR w.wait->>'signal' = :'signal'::text
        ORDER BY p.since COLLATE "C", p.order_id, p.position
        LIMIT least(:'limit'::text::bigint, 10000)
    ),
    page AS (
        SELECT CASE
                WHEN :'order_id'::text <> '' THEN NULL
                WHEN (SELECT count(*) FROM matched) = least(:'limit'::text::bigint, 10000) THEN (
                    SELECT since || '/' || order_id || '/' || position
                    FROM matched
                    ORDER BY since COLLATE "C" DESC, order_id DESC, position DESC
                    LIMIT 1
                )
                WHEN EXISTS (SELECT FROM wanted) THEN (
                    SELECT ((s.open::json)->>'since') || '/' || s.order_id || '/' || s.position
                    FROM order_step s
                    WHERE s.open IS NOT NULL AND s.reason = 'awaiting_signal'
                        AND (((s.open::json)->>'since') COLLATE "C", s.order_id, s.position)
                            > ((SELECT since FROM passed), (SELECT id FROM passed), (SELECT position FROM passed))
                    ORDER BY ((s.open::json)->>'since') COLLATE "C", s.order_id, s.position
                    LIMIT 1 OFFSET 49999
                )
            END AS next
    )
SELECT s.order_id, s.workflow, s.workflow_version, s.step, s.wait->>'signal' AS signal, s.wait->>'title' AS title,
    s.since,
    to_char(s.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS until,
    coalesce(s.wait->>'on_timeout', CASE WHEN s.wait IS NOT NULL THEN 'fail' END) AS on_timeout,
    coalesce((SELECT count(*) FROM json_array_elements(s.signals)), 0) AS counted, coalesce((s.wait->>'of')::bigint, 1) AS of,
    (SELECT string_agg(e.value->>'by', ', ' ORDER BY e.number) FROM json_array_elements(s.signals) WITH ORDINALITY AS e (value, number)) AS signed_by,
    s.wait->'from' AS "from", s.wait->'choices' AS choices,
    (SELECT json_object_agg(l.name, l.value ORDER BY l.name) FROM order_label l WHERE l.order_id = s.order_id) AS labels,
    (
        SELECT CASE WHEN length(o.payload::text) <= :'payload_max'::text::bigint THEN makegood_json(o.payload) END
        FROM orders o
        WHERE o.order_id = s.order_id AND o.revision = s.revision
    ) AS payload,
    (
        SELECT encode(sha256(convert_to(concat_ws(E'\n', s.step, s.attempt, encode(sha256(convert_to(o.payload, 'UTF8')), 'hex')), 'UTF8')), 'hex')
        FROM orders o
        WHERE o.order_id = s.order_id AND o.revision = s.revision AND :'payload_max'::text <> '0'
    ) AS shown, p.next
FROM page p
LEFT JOIN shown s ON true
ORDER BY s.since COLLATE "C", s.order_id, s.position;
