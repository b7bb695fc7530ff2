-- The instants of civil minutes in a zone, after a moment: the next ones. A minute that a clock passes over is the
-- instant that its old offset names; of one that the clock shows twice it is the second. Measured with PostgreSQL 15:
-- Europe/Zurich, 2026-03-29 02:30 is 01:30Z, as 03:30 there is, and 2026-10-25 02:30 is 01:30Z.
-- In this folder: psql -f find_slots.sql, with the values below.
\set zone 'Europe/Zurich'
\set minutes '{29579190,29580630}'
\set after '1774747800000'
\set most '5'

SELECT DISTINCT floor(extract(epoch FROM c.slot) * 1000)::bigint AS slot
FROM (
    SELECT (timestamp '1970-01-01' + m * interval '1 minute') AT TIME ZONE :'zone'::text AS slot
    FROM unnest(:'minutes'::bigint[]) AS m
) c
WHERE c.slot > 'epoch'::timestamptz + :'after'::bigint * interval '1 millisecond'
ORDER BY slot
LIMIT :'most'::bigint;
