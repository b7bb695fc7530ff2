-- serves programs from schema 1
--
-- The operators' action over many orders is a bulk action. So far its name was batch, which is also a scheduler's unit of
-- work and stays the name of that. Tables, columns, types and functions change their names, and so does the word in rows
-- that quote it. An open bulk action goes on: its list, rate and results stay, and commands under way keep their ids.
--
-- Schedulers, agents and supervisors of every schema use nothing that is renamed here: they go on beside it. Programs of
-- schema 4 and below know no bulk actions. Tools and consoles of schema 5 to 15 use the former names. On this schema they
-- cannot start, show, change or drive bulk actions, and the overview of such a console and `doctor` of such a tool report
-- an error. A runner of theirs that leads keeps the lead until it ends; until then open bulk actions stand still. Such a
-- tool acknowledges the alert bulk_stopped without closing it; the tool of this version closes it, also afterwards.

-- In the runner's own order, and before any row is held.
LOCK TABLE batch_runner, batch, batch_order IN ACCESS EXCLUSIVE MODE;

ALTER TABLE batch RENAME TO bulk;
ALTER TABLE bulk RENAME COLUMN batch_id TO bulk_id;
ALTER TABLE batch_order RENAME TO bulk_order;
ALTER TABLE bulk_order RENAME COLUMN batch_id TO bulk_id;
ALTER TABLE batch_runner RENAME TO bulk_runner;

-- Their constraints and indexes. PostgreSQL's version decides which constraints have a name.
DO $$
DECLARE
    renamed CONSTANT regclass[] := ARRAY['bulk', 'bulk_order', 'bulk_runner']::regclass[];
    named   record;
BEGIN
    FOR named IN SELECT c.conrelid::regclass AS of_table, c.conname AS name FROM pg_constraint c
                  WHERE c.conrelid = ANY (renamed) AND c.conname LIKE '%batch%' LOOP
        EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', named.of_table, named.name,
            replace(named.name, 'batch', 'bulk'));
    END LOOP;
    FOR named IN SELECT i.indexrelid::regclass AS of_index, c.relname AS name FROM pg_index i
                   JOIN pg_class c ON c.oid = i.indexrelid
                  WHERE i.indrelid = ANY (renamed) AND c.relname LIKE '%batch%' LOOP
        EXECUTE format('ALTER INDEX %s RENAME TO %I', named.of_index, replace(named.name, 'batch', 'bulk'));
    END LOOP;
END $$;

ALTER DOMAIN makegood_batch_state RENAME TO makegood_bulk_state;
ALTER DOMAIN makegood_bulk_state RENAME CONSTRAINT makegood_batch_state_word TO makegood_bulk_state_word;
ALTER DOMAIN makegood_batch_result RENAME TO makegood_bulk_result;
ALTER DOMAIN makegood_bulk_result RENAME CONSTRAINT makegood_batch_result_word TO makegood_bulk_result_word;

ALTER TRIGGER batch_alert ON bulk RENAME TO bulk_alert;
ALTER FUNCTION makegood_batch_alert() RENAME TO makegood_bulk_alert;
CREATE OR REPLACE FUNCTION makegood_bulk_alert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO operator_alert (code, subject, text) VALUES ('bulk_stopped', NEW.bulk_id, NEW.why)
    ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_bulk_alert() SET search_path = %I, pg_temp', current_schema());
END $$;

-- Rows: the commands that they quote must be those of the tool.
UPDATE bulk_runner SET name = 'bulk' WHERE name = 'batches';
UPDATE bulk SET why = replace(why, 'makegood batch show', 'makegood bulk show') WHERE why LIKE '%makegood batch show%';
UPDATE bulk_order SET text = CASE text WHEN 'the batch was stopped' THEN 'the bulk action was stopped'
                                       WHEN 'the batch stopped' THEN 'the bulk action stopped'
                                       ELSE 'the order has changed since the bulk action was started' END
 WHERE text IN ('the batch was stopped', 'the batch stopped', 'the order has changed since the batch was started');
UPDATE operator_action SET verb = 'bulk' || substr(verb, 6)
 WHERE verb IN ('batch start', 'batch pause', 'batch resume', 'batch stop', 'batch stopped');

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
UPDATE operator_alert SET code = 'bulk_stopped', text = replace(text, 'makegood batch show', 'makegood bulk show')
 WHERE code = 'batch_stopped';
-- No row has the former word any more, and the others were checked against the same words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'bulk_stopped', 'newer_version',
        'retention_stands', 'statuses_given_up')) NOT VALID;

-- As before, with the new name of the table that it reads: one bite of retention (0006_retention.sql).
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
            DELETE FROM orders WHERE order_id = ANY (ids);
            DELETE FROM operator_alert WHERE order_id = ANY (ids) AND closed_at IS NOT NULL;
            DELETE FROM order_process WHERE order_id = ANY (ids);
            moved := cardinality(ids);
        EXCEPTION WHEN OTHERS THEN
            -- What passes by itself, and what may be another's fault, is tried again as it is.
            IF bite > 1 OR cardinality(policy.failed_ids) >= failed_max OR left(SQLSTATE, 2) IN ('40', '53', '55', '57', '58') THEN
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

-- The reason in the story of an order names the bulk action. These rows are found by key, whatever the statistics say, and
-- written last, so that no scheduler waits for one of them. A dossier in the archive keeps the words of its time.
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
UPDATE order_event e
   SET reason = replace(e.reason, '(batch ' || o.bulk_id || ')', '(bulk action ' || o.bulk_id || ')')
  FROM bulk_order o
 WHERE o.asked_at IS NOT NULL AND e.order_id = o.order_id AND e.version = o.version + 1
   AND strpos(e.reason, '(batch ' || o.bulk_id || ')') > 0;
