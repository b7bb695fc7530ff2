-- Lists the orders of a bulk action that has just begun. Orders that failed after the count are left out. Only this
-- transaction sees a bulk action without a number of orders.
-- In this folder: psql -f fill_bulk.sql, with the values below.
\set bulk_id 'b-1'
\set verb 'resume'
\set filter '{}'
\set workflow ''
\set step ''
\set error ''
\set services ''
\set since ''
\set until ''
\set orders '10'
\set labels ''
\set failures `cat parts/failures.sql`
\set failure_wanted `cat parts/failure_wanted.sql`
\set rarest `cat parts/rarest.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind true
\set chosen `cat parts/bulk_chosen.sql`

INSERT INTO bulk_order (bulk_id, n, order_id, version, goal)
SELECT :'bulk_id'::text, row_number() OVER (ORDER BY min(c.opened_at), c.order_id), c.order_id, c.version, c.goal
FROM (:chosen) c
WHERE EXISTS (
    SELECT FROM bulk WHERE bulk_id = :'bulk_id'::text AND verb = :'verb'::text AND filter = :'filter'::text AND orders IS NULL
)
GROUP BY c.order_id, c.version, c.goal
ORDER BY 2
LIMIT nullif(:'orders'::bigint, 0)
ON CONFLICT DO NOTHING;
