-- Generations, digests and values by which the requests of a step are built again and proved, besides the reports of its order.
-- In this folder: psql -f report_calls.sql, with the values below.
\set order_id 'o-1'
\set step 'charge'

SELECT step, generation, undo_generation, encode(do_digest, 'hex') AS do_digest, encode(undo_digest, 'hex') AS undo_digest,
    makegood_json(undo_result) AS undo_result, was_skipped, step = :'step'::text AS is_asked
FROM order_step
WHERE order_id = :'order_id'::text
ORDER BY position;
