-- The services that the workflow versions of open orders name, of a limited number of orders. A step
-- that waits names none.
-- In this folder: psql -f report_kept_services.sql
\set open_workflows `cat parts/open_workflows.sql`

SELECT service
FROM (
    SELECT DISTINCT step->>'service' AS service
    FROM (
        SELECT DISTINCT workflow AS name, workflow_version AS version
        FROM (:open_workflows) o
    ) v
    JOIN workflow w USING (name, version), makegood_elements(makegood_json(w.definition), 'steps') AS step
    WHERE step->>'service' IS NOT NULL
) k
ORDER BY service
LIMIT 10000;
