-- The loaded workflows, with the number of their open orders, of which a limited number is counted.
-- In this folder: psql -f report_workflows.sql
\set open_workflows `cat parts/open_workflows.sql`

WITH open AS MATERIALIZED (:open_workflows),
    counted AS MATERIALIZED (SELECT workflow, workflow_version, count(*) AS open_orders FROM open GROUP BY 1, 2)
SELECT w.name, w.version, to_char(w.loaded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS loaded_at,
    coalesce(c.open_orders, 0) AS open_orders
FROM workflow w
LEFT JOIN counted c ON c.workflow = w.name AND c.workflow_version = w.version
ORDER BY w.name, w.version
LIMIT 10000;
