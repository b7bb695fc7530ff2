-- The statuses of an archived order of a client, after one of them.
-- In this folder: psql -f report_archived_statuses_of_client.sql, with the values below.
\set client 'shop'
\set order_id 'o-1'
\set seq '0'
\set limit '100'

SELECT *
FROM makegood_archived_statuses(:'client'::text, :'order_id'::text, :'seq'::text::bigint)
LIMIT least(:'limit'::text::bigint, 10000);
