-- All schedules, by their names.
-- In this folder: psql -f report_schedules.sql
\set columns `cat parts/schedule_columns.sql`
\set schedules_max 1000

SELECT :columns
FROM schedule s
LEFT JOIN LATERAL (SELECT * FROM schedule_run WHERE name = s.name ORDER BY slot DESC LIMIT 1) r ON true
ORDER BY s.name
LIMIT :schedules_max;
