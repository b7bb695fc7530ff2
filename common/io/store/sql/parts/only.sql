-- Takes no other orders than the given ones, and none that is set aside.
order_id = ANY (:'keys'::text[]) AND order_id NOT IN (SELECT order_id FROM order_aside)
