-- How many statuses of an order its client's queue has not taken yet, and how many were given up.
-- In this folder: psql -f report_order_owed.sql, with the values below.
\set order_id 'o-1'

SELECT p.reply_to, count(*) FILTER (WHERE e.owed) AS owed,
    to_char(min(e.at) FILTER (WHERE e.owed) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS owed_since,
    count(e.given_up_at) AS given_up,
    to_char(max(e.given_up_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS given_up_at
FROM order_event e
JOIN order_process p USING (order_id)
WHERE e.order_id = :'order_id'::text AND (e.owed OR e.given_up_at IS NOT NULL)
GROUP BY p.reply_to;
