-- serves programs from schema 1
--
-- Durations of calls are finer, and calls that a service refuses are counted apart. A new alert of a known cause is
-- known.

-- The duration that this share of a service's calls did not exceed, in ms; NULL: no call. A service's counts have in place
-- 1 the calls, 2 the failed ones, 3 to 17 the calls by coarse durations, 18 the refused ones, from 19 on the calls by fine
-- durations: up to 1, 2, … 8 ms, then eight steps for each doubling, up to 65,536 (mg_call_bucket). Agents of schema 44 and
-- below have no more than 17. Within a bucket calls count as spread evenly.
CREATE OR REPLACE FUNCTION makegood_call_ms(counts bigint[], share double precision) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ceil(b.above + (b.upto - b.above) * (share * b.total - b.before) / b.calls)::bigint
    FROM (
        SELECT n, calls, upto, lag(upto, 1, 0::double precision) OVER (ORDER BY n) AS above,
            sum(calls) OVER (ORDER BY n) - calls AS before, sum(calls) OVER () AS total
        FROM (
            SELECT n, calls, CASE WHEN n <= 8 THEN n ELSE (9 + (n - 1) % 8) * 2::double precision ^ ((n - 1) / 8 - 1) END AS upto
            FROM unnest(counts[19:]) WITH ORDINALITY AS u (calls, n)
        ) u
    ) b
    WHERE b.calls > 0 AND b.before + b.calls >= share * b.total
    ORDER BY b.n
    LIMIT 1
$$;

-- The acknowledged alerts of each cause.
CREATE INDEX operator_alert_known ON operator_alert
    (code, workflow COLLATE "C", coalesce(step, '') COLLATE "C", coalesce(service, '') COLLATE "C",
        coalesce(error_code, '') COLLATE "C", acked_at)
    WHERE closed_at IS NULL AND acked_at IS NOT NULL;

-- A failure of a cause that is open and known is known, too, so that the cause stays known when its first alerts close.
CREATE FUNCTION makegood_alert_known() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    SELECT a.acked_at, a.acked_by INTO NEW.acked_at, NEW.acked_by
    FROM operator_alert a
    WHERE a.closed_at IS NULL AND a.acked_at IS NOT NULL AND a.code = NEW.code
        AND a.workflow COLLATE "C" = NEW.workflow AND coalesce(a.step, '') COLLATE "C" = coalesce(NEW.step, '')
        AND coalesce(a.service, '') COLLATE "C" = coalesce(NEW.service, '')
        AND coalesce(a.error_code, '') COLLATE "C" = coalesce(NEW.error_code, '')
    ORDER BY a.acked_at DESC
    LIMIT 1;
    RETURN NEW;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_alert_known() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER alert_known BEFORE INSERT ON operator_alert
    FOR EACH ROW WHEN (NEW.workflow IS NOT NULL AND NEW.acked_at IS NULL) EXECUTE FUNCTION makegood_alert_known();

UPDATE operator_alert a SET acked_at = k.acked_at, acked_by = k.acked_by
FROM (
    SELECT DISTINCT ON (code, workflow, step, service, error_code) *
    FROM operator_alert
    WHERE closed_at IS NULL AND acked_at IS NOT NULL AND workflow IS NOT NULL
    ORDER BY code, workflow, step, service, error_code, acked_at DESC
) k
WHERE a.closed_at IS NULL AND a.acked_at IS NULL AND a.code = k.code AND a.workflow = k.workflow
    AND a.step IS NOT DISTINCT FROM k.step AND a.service IS NOT DISTINCT FROM k.service
    AND a.error_code IS NOT DISTINCT FROM k.error_code;

-- The bulk actions on one order, for `makegood audit --subject ORDER`.
CREATE INDEX bulk_order_order ON bulk_order (order_id);
