-- The orders that sweep would take.
-- In this folder: psql -f sweep_keys.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set limit '500'
\set ask_again_ms '2000'
\set grace_after_ms '0'
\set grace_before_ms '0'
\set overdue_limit '100'
\set step_limit '2000'
\set high_grace_after_ms '0'
\set high_from_ms '0'
\set high_until_ms '0'
\set low_from_ms '0'
\set low_until_ms '0'
\set gap_after_ms '0'
\set gap_before_ms '0'
\set keys '{}'
\set woken `cat parts/woken.sql`
\set lock ''
\set due `cat parts/sweep_due.sql`
\set taken `cat parts/all_but.sql`

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    leader AS MATERIALIZED (
        SELECT FROM supervisor_leader WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
    ),
    :due,
    unused AS (
        SELECT :'ask_again_ms'::bigint, :'grace_after_ms'::bigint, :'grace_before_ms'::bigint, :'overdue_limit'::bigint,
            :'step_limit'::bigint, :'high_grace_after_ms'::bigint, :'high_from_ms'::bigint, :'high_until_ms'::bigint,
            :'low_from_ms'::bigint, :'low_until_ms'::bigint, :'gap_after_ms'::bigint, :'gap_before_ms'::bigint
    )
SELECT order_id
FROM timely
UNION
SELECT order_id
FROM latest
UNION
SELECT order_id
FROM woken;
