-- Acts of operators, newest first, among the newest 100,000. An operator's name includes its logins at a proxy. The acts
-- on an order include those on a bulk action that sent it a command. A command had an effect if an event of its order names
-- it; of an order in the archive this is not known.
-- In this folder: psql -f report_actions.sql, with the values below.
\set since ''
\set until ''
\set by ''
\set subject ''
\set after ''
\set limit '50'
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`

SELECT a.action_id, to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, a.by_whom, a.verb, a.subject,
    a.reason,
    CASE WHEN a.detail->>'command' IS NOT NULL THEN
        coalesce(
            (SELECT 'done' FROM order_event e WHERE e.order_id = a.subject AND e.cause = a.detail->>'command' LIMIT 1),
            (SELECT 'no effect' FROM order_process p WHERE p.order_id = a.subject)
        ) END AS outcome,
    a.detail
FROM (
    SELECT *
    FROM operator_action
    WHERE action_id < coalesce(nullif(:'after'::text, '')::bigint, 9223372036854775807)
    ORDER BY action_id DESC
    LIMIT 100000
) a
WHERE a.at >= :since_at AND a.at < :until_at
    AND (:'by'::text = '' OR a.by_whom = :'by'::text OR starts_with(a.by_whom, :'by'::text || ' via '))
    AND (
        :'subject'::text IN ('', a.subject)
        OR (
            starts_with(a.verb, 'bulk ')
            AND a.subject IN (
                SELECT b.bulk_id FROM bulk_order b WHERE b.order_id = :'subject'::text AND b.asked_at IS NOT NULL
            )
        )
    )
ORDER BY a.action_id DESC
LIMIT least(:'limit'::text::bigint, 10000);
