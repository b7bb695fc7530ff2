-- Bulk actions, newest first.
-- In this folder: psql -f report_bulk_list.sql, with the values below.
\set limit '20'
\set bulk_columns `cat parts/bulk_columns.sql`

SELECT :bulk_columns
FROM bulk b
ORDER BY b.created_at DESC, b.bulk_id DESC
LIMIT least(:'limit'::text::bigint, 10000);
