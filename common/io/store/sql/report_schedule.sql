-- One schedule, with its definition.
-- In this folder: psql -f report_schedule.sql, with the value below.
\set name 'nightly'
\set columns `cat parts/schedule_columns.sql`

SELECT :columns, makegood_json(s.definition) AS definition
FROM schedule s
LEFT JOIN LATERAL (SELECT * FROM schedule_run WHERE name = s.name ORDER BY slot DESC LIMIT 1) r ON true
WHERE s.name = :'name'::text;
