-- Acts of operators, newest first, among the newest 100,000. An operator's name includes its logins at a proxy.
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
    a.reason, a.detail
FROM (
    SELECT *
    FROM operator_action
    WHERE action_id < coalesce(nullif(:'after'::text, '')::bigint, 9223372036854775807)
    ORDER BY action_id DESC
    LIMIT 100000
) a
WHERE a.at >= :since_at AND a.at < :until_at
    AND (:'by'::text = '' OR a.by_whom = :'by'::text OR starts_with(a.by_whom, :'by'::text || ' via '))
    AND (:'subject'::text = '' OR a.subject = :'subject'::text)
ORDER BY a.action_id DESC
LIMIT least(:'limit'::text::bigint, 10000);
