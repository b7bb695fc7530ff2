-- Orders :first to :last that wait for a signal, as true copies of the order :template, which the product has made: every row
-- of it, under an id of its own. Ids as in fill.sql. Each copy began to wait a millisecond before the last, and has its
-- time-out a millisecond earlier. Where the template's payload and key contain its id, the copy's contain the copy's. Only
-- digests are the template's: they count when an order is posted again.
CREATE TEMPORARY TABLE copy AS
SELECT n, substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || substr(r, 1, 3) || '-8' || substr(r, 4, 3) || '-' || substr(r, 7, 12)
           AS order_id
  FROM generate_series(:first, :last) n,
       LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 2592000000 + n::bigint * 2000), 12, '0') AS t,
                       md5(n::text) AS r) x;
DO $$
DECLARE
    own text := ':template';
    began text := (SELECT open::json ->> 'since' FROM order_step WHERE order_id = own AND open IS NOT NULL);
    of record;
BEGIN
    ASSERT began IS NOT NULL, 'the template waits for no signal';
    FOR of IN
        SELECT c.table_name AS name, string_agg(quote_ident(c.column_name), ', ' ORDER BY c.ordinal_position) AS columns,
               string_agg(CASE
                   WHEN c.column_name = 'open' THEN format(
                       'replace(replace(o.open, own, c.order_id), %L, to_char((%L::timestamptz - c.n * interval ''1 ms'') AT TIME ZONE ''UTC'', ''YYYY-MM-DD"T"HH24:MI:SS.MS"Z"''))',
                       began, began)
                   WHEN c.column_name IN ('wake_at', 'due_at', 'finish_by') THEN format('o.%I - c.n * interval ''1 ms''', c.column_name)
                   WHEN c.data_type = 'text' THEN format('replace(o.%I, own, c.order_id)', c.column_name)
                   WHEN c.data_type IN ('json', 'jsonb') THEN format('replace(o.%I::text, own, c.order_id)::%s', c.column_name, c.data_type)
                   ELSE format('o.%I', c.column_name) END, ', ' ORDER BY c.ordinal_position) AS terms
          FROM information_schema.columns c
         WHERE c.table_schema = 'public' AND c.table_name IN ('orders', 'order_process', 'order_step', 'order_event', 'order_label')
           AND c.is_generated = 'NEVER'
         GROUP BY c.table_name
    LOOP
        EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM %I o, copy c WHERE o.order_id = %L', of.name, of.columns,
                       replace(of.terms, ', own, ', format(', %L, ', own)), of.name, own);
    END LOOP;
END $$;
