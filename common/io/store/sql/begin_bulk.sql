-- Starts a bulk action of the orders with these failures, unless too many actions are open, or it has too many orders
-- (0: any number).
-- In this folder: psql -f begin_bulk.sql, with the values below.
\set bulk_id 'b-1'
\set verb 'resume'
\set filter '{}'
\set workflow ''
\set step ''
\set error ''
\set services ''
\set since ''
\set until ''
\set reason 'r'
\set by 'otto'
\set canary '5'
\set rate_per_s '5'
\set stop_percent '10'
\set open_max '20'
\set orders_max '0'
\set labels ''
\set failures `cat parts/failures.sql`
\set failure_wanted `cat parts/failure_wanted.sql`
\set rarest `cat parts/rarest.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind true
\set chosen `cat parts/bulk_chosen.sql`

INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent)
SELECT :'bulk_id'::text, :'verb'::text, :'filter'::text, :'reason'::text, :'by'::text, :'canary'::bigint,
    :'rate_per_s'::text::double precision, :'stop_percent'::bigint
WHERE (SELECT count(*) FROM bulk WHERE ended_at IS NULL) < :'open_max'::bigint AND EXISTS (:chosen)
    AND (:'orders_max'::bigint = 0 OR (SELECT count(DISTINCT c.order_id) FROM (:chosen) c) <= :'orders_max'::bigint)
ON CONFLICT DO NOTHING;
