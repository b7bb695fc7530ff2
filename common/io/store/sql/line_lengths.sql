-- How many orders stand in the lines of these keys; a key without a line has no row.
-- In this folder: psql -f line_lengths.sql, with the values below.
\set keys '{customer/1}'

SELECT k.key, k.length FROM unnest(:'keys'::text[]) AS i(key) JOIN sequence_key k ON k.key = i.key;
