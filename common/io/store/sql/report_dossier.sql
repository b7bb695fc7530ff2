-- The whole order as one JSON text (proto/dossier.schema.json).
-- In this folder: psql -f report_dossier.sql, with the values below.
\set order_id 'o-1'

SELECT d AS dossier FROM makegood_dossier(:'order_id'::text, true) d WHERE d IS NOT NULL;
