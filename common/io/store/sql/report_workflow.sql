-- The newest version of a workflow, with its definition.
-- In this folder: psql -f report_workflow.sql, with the value below.
\set name 'sale'

SELECT w.name, w.version, to_char(w.loaded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS loaded_at,
    makegood_json(w.definition) AS definition
FROM workflow w
WHERE w.name = :'name'::text
ORDER BY w.version DESC
LIMIT 1;
