-- Takes no order of the given ones, and none that schedulers or operators have set aside.
order_id <> ALL (:'keys'::text[]) AND order_id NOT IN (SELECT order_id FROM order_aside)
