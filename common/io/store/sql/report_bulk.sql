-- One bulk action.
-- In this folder: psql -f report_bulk.sql, with the values below.
\set bulk_id 'b-1'
\set bulk_columns `cat parts/bulk_columns.sql`

SELECT :bulk_columns
FROM bulk b
WHERE b.bulk_id = :'bulk_id'::text;
