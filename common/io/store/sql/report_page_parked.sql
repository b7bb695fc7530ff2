-- A page of orders with a step that is parked for a service, the oldest orders first; the columns are those of
-- report_orders. Up to a limit of parked steps are read; is_full: some were not. The cursor is the last order of the page
-- before.
-- In this folder: psql -f report_page_parked.sql, with the values below.
\set service 'payment'
\set cursor ''
\set limit '50'
\set waits `cat parts/waits.sql`
\set page `cat parts/orders_page.sql`

WITH looked AS MATERIALIZED (
        SELECT order_id FROM order_step WHERE service = :'service'::text AND parked_high IS NOT NULL LIMIT 10000
    ),
    shown AS MATERIALIZED (
        SELECT p.*
        FROM (SELECT DISTINCT order_id FROM looked) k
        CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = k.order_id OFFSET 0) p
        WHERE :'cursor'::text = ''
            OR (p.created_at, p.order_id) > (
                SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = :'cursor'::text
            )
        ORDER BY p.created_at, p.order_id
        LIMIT least(:'limit'::text::bigint, 10000)
    )
:page;
