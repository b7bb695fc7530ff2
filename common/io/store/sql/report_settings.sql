-- Settings of the server, its clock, and the version of the schema. The version is read without a direct query of its
-- table: that may be missing, and this report must still answer.
-- In this folder: psql -f report_settings.sql
\set standby `cat parts/standby.sql`

SELECT current_setting('server_version') AS server_version,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms, current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit, pg_is_in_recovery() AS in_recovery,
    current_setting('server_encoding') AS encoding,
    :standby AS standby,
    coalesce(
        (
            xpath(
                '//v/text()',
                query_to_xml(
                    'SELECT max(version) AS v FROM ' || coalesce(
                        to_regclass('makegood_migration'), to_regclass('makegood_schema')
                    ),
                    false, true, ''
                )
            )
        )[1]::text,
        '0'
    )::bigint AS schema_version,
    coalesce(
        (
            xpath(
                '//v/text()',
                query_to_xml('SELECT max(serves_from) AS v FROM ' || to_regclass('makegood_migration'), false, true, '')
            )
        )[1]::text,
        '0'
    )::bigint AS serves_from
FROM (SELECT current_setting('synchronous_standby_names') AS names) s;
