-- The version of the collation by which the database was built, the one that the server has now (NULL: none, or a
-- server older than PostgreSQL 15), and the number of key columns, in indexes of the visible schema, that are sorted
-- by more than their bytes.
-- In this folder: psql -f report_collation.sql

SELECT to_jsonb(d)->>'datcollversion' AS built,
    CASE WHEN current_setting('server_version_num')::int >= 150000 THEN (
        xpath(
            '//v/text()',
            query_to_xml(
                'SELECT pg_database_collation_actual_version(oid) AS v FROM pg_database WHERE datname = current_database()',
                false, true, ''
            )
        )
    )[1]::text END AS actual,
    (
        SELECT count(*)
        FROM pg_index x
        JOIN pg_class c ON c.oid = x.indrelid, unnest(x.indcollation) k (oid)
        WHERE c.relnamespace = current_schema()::regnamespace AND k.oid NOT IN (0, '"C"'::regcollation, '"POSIX"'::regcollation)
    ) AS keys
FROM pg_database d
WHERE datname = current_database();
