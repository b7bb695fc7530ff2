-- How far back the reports of failures read. `oldest` is rounded up, so that nothing lies between.
-- In this folder: psql -f report_failures_looked_at.sql, with the values below.
\set since ''
\set until ''
\set after ''
\set failures `cat parts/failures.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind `cat parts/failures_after.sql`

SELECT count(*) AS looked_at, count(*) = 100000 AS is_full,
    to_char((min(f.opened_at) + interval '1 millisecond') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS oldest,
    (
        :'after'::text = ''
        OR (SELECT b.alert_id FROM operator_alert b WHERE b.alert_id = nullif(:'after'::text, '')::bigint) IS NOT NULL
    ) AS is_known
FROM (:failures) f;
