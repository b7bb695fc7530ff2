-- serves programs from schema 1
--
-- A stored value that cannot be read or converted costs itself: the other values of its order are shown, and other orders are
-- not touched. Damage below (XX001), a text that is no JSON, an escape that the database cannot convert: all alike.

-- A value that holds JSON, for people. In place of one that cannot be read stands an object that names the reason.
CREATE FUNCTION makegood_json(value anyelement) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN value::text::json;
EXCEPTION WHEN OTHERS THEN
    RETURN json_build_object('unreadable', SQLERRM || ' (' || SQLSTATE || ')');
END $$;

-- The array in a member of such a value; empty, if there is none.
CREATE FUNCTION makegood_elements(value json, member text) RETURNS SETOF json
    LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    RETURN QUERY SELECT json_array_elements(value->member);
EXCEPTION WHEN OTHERS THEN
    RETURN;
END $$;

-- The newest status of an order with this word (0017_outcome.sql). Events whose statuses cannot be read are passed over; if no
-- other has the word, the error names the order and the event, since the wanted status may be there.
CREATE OR REPLACE FUNCTION makegood_last_status(wanted text, word text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_status json;
    wanted_version bigint;
    bad_version  bigint;
    bad_state    text;
    bad_why      text;
BEGIN
    BEGIN
        SELECT s.status INTO found_status
          FROM order_event e, json_array_elements(e.statuses) WITH ORDINALITY AS s(status, nth)
         WHERE e.order_id = wanted AND s.status->>'status' = word ORDER BY e.version DESC, s.nth DESC LIMIT 1;
        RETURN found_status;
    EXCEPTION WHEN OTHERS THEN
        NULL; -- event by event, below
    END;
    FOR wanted_version IN SELECT e.version FROM order_event e WHERE e.order_id = wanted ORDER BY e.version DESC LOOP
        BEGIN
            SELECT s.status INTO found_status
              FROM order_event e, json_array_elements(e.statuses) WITH ORDINALITY AS s(status, nth)
             WHERE e.order_id = wanted AND e.version = wanted_version AND s.status->>'status' = word
             ORDER BY s.nth DESC LIMIT 1;
            IF FOUND THEN
                RETURN found_status;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            IF bad_version IS NULL THEN
                bad_version := wanted_version;
                bad_state := SQLSTATE;
                bad_why := SQLERRM;
            END IF;
        END;
    END LOOP;
    IF bad_version IS NOT NULL THEN
        RAISE EXCEPTION 'order %, event %: its statuses cannot be read: %', wanted, bad_version, bad_why USING ERRCODE = bad_state;
    END IF;
    RETURN NULL;
END $$;

-- The same for people: in place of a status that cannot be read, the reason. The rest of the order is shown.
CREATE FUNCTION makegood_shown_status(wanted text, word text) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN makegood_last_status(wanted, word);
EXCEPTION WHEN OTHERS THEN
    RETURN json_build_object('output', json_build_object('unreadable', SQLERRM || ' (' || SQLSTATE || ')'),
                             'reason', SQLERRM || ' (' || SQLSTATE || ')');
END $$;

-- As before (0006_retention.sql), but a row that another session keeps locked costs its own order, not the bite.
CREATE OR REPLACE FUNCTION makegood_retire(of_epoch bigint, of_holder text, bite integer)
    RETURNS TABLE (outcome text, moved bigint, is_full boolean, is_round boolean, oldest_ms bigint, failure text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    pages_min CONSTANT bigint := 64;   -- half a megabyte
    pages_max CONSTANT bigint := 2048;
    failed_max CONSTANT integer := 100; -- that are passed by; more have a cause that is not theirs
    failed_for CONSTANT interval := '10 minutes'; -- passed by: finding out which it is takes bites that fail
    policy    retention;
    now_at    CONSTANT timestamptz := clock_timestamp();
    today     CONSTANT date := (now_at AT TIME ZONE 'UTC')::date;
    pages     bigint;
    row_first tid; -- of the pages that are looked at
    row_next  tid; -- behind them
    page_next bigint;
    found_ids text[];
    ids       text[];
BEGIN
    moved := 0;
    is_full := false;
    is_round := false;
    -- Two leaders wait for each other here, and the later one then sees that it is none. The leader's own row is only read:
    -- a sweep must not wait for a bite.
    SELECT * INTO policy FROM retention r WHERE r.name = 'orders' FOR NO KEY UPDATE;
    outcome := CASE
        WHEN NOT EXISTS (SELECT FROM supervisor_leader l
                          WHERE l.name = 'supervisor' AND l.epoch = of_epoch AND l.holder = of_holder) THEN 'fenced'
        WHEN policy.hot IS NULL THEN 'off'
        WHEN to_regclass('order_archive_' || to_char(today, 'YYYYMMDD')) IS NULL THEN 'no_partition'
        ELSE 'moved' END;
    IF outcome <> 'moved' THEN
        RETURN NEXT;
        RETURN;
    END IF;

    pages := pg_relation_size('order_process') / current_setting('block_size')::bigint;
    IF policy.page >= pages THEN
        policy.page := 0;
    END IF;
    -- Called once a second.
    page_next := policy.page + greatest(pages_min, least(pages_max,
        pages / greatest(1, extract(epoch FROM policy.hot) / 10)::bigint));
    row_first := format('(%s,0)', policy.page);
    row_next := format('(%s,0)', page_next);

    -- An order in error has not ended. Nor has one with an attempt under way, with a status that its client was not told,
    -- with an alert that somebody must look at, or that a bulk action asks for.
    found_ids := ARRAY(
        SELECT p.order_id FROM order_process p
         WHERE p.ctid >= row_first AND p.ctid < row_next
           AND p.process_state IN ('processed', 'compensated', 'cancelled') AND p.wake_at IS NULL
           AND p.updated_at < now_at - policy.hot AND p.order_id <> ALL (policy.failed_ids)
           AND NOT EXISTS (SELECT FROM order_aside a WHERE a.order_id = p.order_id)
           AND NOT EXISTS (SELECT FROM order_event e WHERE e.order_id = p.order_id AND e.owed)
           AND NOT EXISTS (SELECT FROM operator_alert a WHERE a.order_id = p.order_id AND a.closed_at IS NULL)
           AND NOT EXISTS (SELECT FROM bulk_order b WHERE b.order_id = p.order_id AND b.result IN ('waiting', 'asked'))
         LIMIT bite FOR UPDATE OF p SKIP LOCKED);

    IF cardinality(found_ids) > 0 THEN
        BEGIN
            -- An id that came, ended and left twice within one day, which `hot` rules out, stays.
            WITH kept AS (
                INSERT INTO order_archive (archived_on, order_id, workflow, process_state, ended_at, dossier)
                SELECT today, p.order_id, p.workflow, p.process_state, p.updated_at, makegood_dossier(p.order_id)
                  FROM order_process p WHERE p.order_id = ANY (found_ids)
                ON CONFLICT DO NOTHING RETURNING order_id)
            SELECT coalesce(array_agg(order_id), '{}') INTO ids FROM kept;

            WITH gone AS (DELETE FROM order_event e WHERE e.order_id = ANY (ids) RETURNING e.owed)
            SELECT count(*) FILTER (WHERE owed) INTO moved FROM gone;
            IF moved > 0 THEN -- a status came back just now: nothing of this bite is kept
                RAISE EXCEPTION 'an order that was to leave owes a status' USING ERRCODE = 'serialization_failure';
            END IF;
            DELETE FROM order_step WHERE order_id = ANY (ids);
            DELETE FROM order_label WHERE order_id = ANY (ids);
            DELETE FROM orders WHERE order_id = ANY (ids);
            DELETE FROM operator_alert WHERE order_id = ANY (ids) AND closed_at IS NOT NULL;
            DELETE FROM order_process WHERE order_id = ANY (ids);
            moved := cardinality(ids);
        EXCEPTION WHEN OTHERS THEN
            -- What passes by itself, and what may be another's fault, is tried again as it is.
            IF bite > 1 OR cardinality(policy.failed_ids) >= failed_max
                OR (left(SQLSTATE, 2) IN ('40', '53', '55', '57', '58') AND SQLSTATE <> '55P03') THEN
                -- Without its detail and context, which may quote a payload.
                RAISE EXCEPTION '%', SQLERRM USING ERRCODE = SQLSTATE;
            END IF;
            moved := 0;
            policy.failed_ids := policy.failed_ids || found_ids;
            policy.failed_at := now_at;
            policy.failed_why := left(format('order %s: %s', found_ids[1], SQLERRM), 300);
        END;
    END IF;

    failure := policy.failed_why;
    is_full := cardinality(found_ids) >= bite AND (moved > 0 OR found_ids <@ policy.failed_ids);
    is_round := NOT is_full AND page_next >= pages;
    UPDATE retention SET page = CASE WHEN is_full THEN policy.page WHEN is_round THEN 0 ELSE page_next END,
           failed_ids = CASE WHEN is_round AND policy.failed_at < now_at - failed_for THEN '{}' ELSE policy.failed_ids END,
           failed_at = policy.failed_at,
           failed_why = CASE WHEN is_round AND policy.failed_ids = '{}' THEN NULL ELSE policy.failed_why END
     WHERE name = 'orders';
    SELECT floor(extract(epoch FROM now_at - min(p.updated_at)) * 1000)::bigint INTO oldest_ms FROM order_process p
     WHERE p.ctid >= row_first AND p.ctid < row_next
       AND p.process_state IN ('processed', 'compensated', 'cancelled') AND p.wake_at IS NULL;
    RETURN NEXT;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_retire(bigint, text, integer) SET search_path = %I, pg_temp', current_schema());
END $$;
