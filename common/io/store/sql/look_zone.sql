-- The clock, and the civil time in a zone at a moment; NULL: there is no such zone. At 0: now.
-- In this folder: psql -f look_zone.sql, with the values below.
\set zone 'Europe/Zurich'
\set at '0'

SELECT floor(extract(epoch FROM k.now) * 1000)::bigint AS now,
    CASE
        WHEN EXISTS (SELECT FROM pg_timezone_names WHERE name = :'zone'::text)
            THEN floor(extract(epoch FROM CASE :'at'::bigint
                WHEN 0 THEN k.now
                ELSE 'epoch'::timestamptz + :'at'::bigint * interval '1 millisecond'
            END AT TIME ZONE :'zone'::text) * 1000)::bigint
    END AS civil
FROM (SELECT clock_timestamp() AS now) k;
