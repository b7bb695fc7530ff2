-- A page of open orders, oldest first; the columns are those of report_orders. Of all open orders those due first are
-- read, up to a limit; is_full: some were not. The cursor is the last order of the page before.
-- In this folder: psql -f report_page_open.sql, with the values below.
\set state ''
\set workflow ''
\set since ''
\set until ''
\set cursor ''
\set limit '50'
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set waits `cat parts/waits.sql`
\set page `cat parts/orders_page.sql`

WITH looked AS MATERIALIZED (
        SELECT order_id, workflow, process_state, goal, reason, failure_count, created_at, updated_at, complete_by
        FROM order_process
        WHERE wake_at IS NOT NULL
        ORDER BY wake_at
        LIMIT 10000
    ),
    shown AS MATERIALIZED (
        SELECT *
        FROM looked p
        WHERE CASE WHEN :'state'::text = '' THEN p.process_state <> 'error' ELSE p.process_state = :'state'::text END
            AND (:'workflow'::text = '' OR p.workflow = :'workflow'::text) AND p.created_at >= :since_at
            AND p.created_at < :until_at
            AND (
                :'cursor'::text = ''
                OR (p.created_at, p.order_id) > (
                    SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = :'cursor'::text
                )
            )
        ORDER BY p.created_at, p.order_id
        LIMIT least(:'limit'::text::bigint, 10000)
    )
:page;
