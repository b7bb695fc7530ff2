-- The number of steps parked at a gate, up to a limit of entries of an index, and whether the newest version of a
-- workflow goes without the service. A damaged definition counts as one that does.
-- In this folder: psql -f count_parked.sql, with the values below.
\set service 'payment'
\set is_high '0'
\set limit '1000'

SELECT (
    SELECT count(*)
    FROM (
        SELECT
        FROM order_step
        WHERE service = :'service'::text AND parked_high = (:'is_high'::bigint = 1)
        LIMIT :'limit'::bigint
    ) p
),
    EXISTS (
        SELECT
        FROM workflow w
        JOIN (SELECT name, max(version) AS version FROM workflow GROUP BY name) v USING (name, version)
        WHERE NOT EXISTS (
            SELECT FROM makegood_elements(makegood_json(w.definition), 'steps') AS s WHERE s->>'service' = :'service'::text
        )
    );
