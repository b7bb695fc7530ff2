-- Orders by state. Reads the whole table order_process.
-- In this folder: psql -f report_counts.sql

SELECT process_state AS state, count(*) AS orders
FROM order_process
GROUP BY process_state
ORDER BY process_state;
