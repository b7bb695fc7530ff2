-- The moves of a commit's orders in the lines of their keys (store/line_rows.c).
SELECT n, order_id, generation, left_generation, leaves, begins, joins, key
FROM unnest(
    :'ns'::bigint[], :'order_ids'::text[], :'generations'::bigint[], :'left_generations'::bigint[],
    :'leaves'::boolean[], :'begins'::boolean[], :'joins'::boolean[], :'keys'::text[]
) AS i(n, order_id, generation, left_generation, leaves, begins, joins, key)
