-- The same of an archived order, with archived_on.
-- In this folder: psql -f report_archived_order_of_client.sql, with the values below.
\set client 'shop'
\set order_id 'o-1'

SELECT *
FROM makegood_archived_order(:'client'::text, :'order_id'::text);
