-- serves programs from schema 1
--
-- What an order gives back, and by what it is found.
--
-- Labels: a workflow's templates make them when the order comes in, and they are written with it. Schedulers of schema 16
-- and below take no definition with the member `labels`: they leave its orders to others.

-- Of an order in these tables, at most 8; one in the archive has them in its dossier. An order without labels has no row.
-- Equal values are found by the index, newest first; so it holds the order's own created_at.
CREATE TABLE order_label (
    order_id   text NOT NULL,
    name       text COLLATE "C" NOT NULL,
    value      text COLLATE "C" NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 128),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (order_id, name)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
        autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX order_label_value ON order_label (value, name, created_at, order_id);

-- The newest status of an order with this word. A processed order has its output in it, and nowhere else: it is stored as
-- it was sent.
CREATE OR REPLACE FUNCTION makegood_last_status(wanted text, word text) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT s.status FROM order_event e, json_array_elements(e.statuses) WITH ORDINALITY AS s(status, nth)
    WHERE e.order_id = wanted AND s.status->>'status' = word ORDER BY e.version DESC, s.nth DESC LIMIT 1
$$;

-- Why the order turned back or needs an operator: the JSON of `cause` in its statuses.
ALTER TABLE order_process ADD COLUMN failure text;

-- The service's own words in the last failure of a step. The service file decides what is kept.
ALTER TABLE order_step
    ADD COLUMN error_message text,
    ADD COLUMN error_body    text; -- the beginning of the refusing body, valid UTF-8

-- Failures are counted by their code. `signature` repeats it for programs of schema 16 and below, which count by that.
CREATE INDEX operator_alert_code ON operator_alert (opened_at, alert_id)
    INCLUDE (workflow, step, service, error_code, order_id) WHERE closed_at IS NULL AND order_id IS NOT NULL;
DROP INDEX operator_alert_group;

-- As before, with all of these. All that is kept of an order, as `makegood order export` prints it; NULL: there is no such
-- order. One statement, so one moment. Payloads, results and statuses stand in it as they came. Of what can grow without end
-- the newest are in it, and how many older ones are not: an order that people repair and repeat for months stays below.
CREATE OR REPLACE FUNCTION makegood_dossier(wanted text) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('v', 1, 'order_id', p.order_id, 'exported_at', makegood_time(clock_timestamp()),
        'order', json_build_object('state', p.process_state, 'goal', p.goal, 'reason', p.reason,
            'version', p.version, 'seq', p.seq, 'generation', p.generation, 'failure_count', p.failure_count,
            'locked_by', p.locked_by, 'complete_by', makegood_time(p.complete_by), 'wake_at', makegood_time(p.wake_at),
            'workflow', p.workflow, 'workflow_version', p.workflow_version, 'revision', p.revision,
            'reply_to', p.reply_to, 'correlation_id', p.correlation_id, 'traceparent', p.traceparent,
            'is_high', p.is_high, 'wants_step_status', p.wants_step_status, 'failure', p.failure::json,
            'created_at', makegood_time(p.created_at), 'updated_at', makegood_time(p.updated_at)),
        'labels', (SELECT coalesce(json_object_agg(t.name, t.value ORDER BY t.name), '{}')
            FROM order_label t WHERE t.order_id = p.order_id),
        'output', CASE WHEN p.process_state = 'processed'
            THEN makegood_last_status(p.order_id, 'processed')->'output' END,
        'workflow', (SELECT json_build_object('name', w.name, 'version', w.version,
                'loaded_at', makegood_time(w.loaded_at), 'definition', w.definition::json)
            FROM workflow w WHERE w.name = p.workflow AND w.version = p.workflow_version),
        'revisions', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.revision AS k, json_build_object('revision', t.revision, 'received_at', makegood_time(t.received_at),
                'workflow', t.workflow, 'workflow_version', t.workflow_version, 'is_high', t.is_high,
                'digest', encode(t.digest, 'hex'), 'client', t.client, 'payload', t.payload::json) AS o
            FROM orders t WHERE t.order_id = p.order_id ORDER BY t.revision DESC LIMIT 100) n),
        'steps', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.position AS k, json_build_object('position', t.position, 'step', t.step, 'service', t.service,
                'state', t.state, 'kind', t.kind, 'reason', t.reason, 'maybe', t.maybe,
                'is_undo_dispatched', t.is_undo_dispatched, 'is_refused', t.is_refused, 'is_accepted', t.is_accepted,
                'attempt', t.attempt, 'failure_count', t.failure_count,
                'poll_failure_count', t.poll_failure_count, 'cool_down_count', t.cool_down_count, 'generation', t.generation, 'complete_by', makegood_time(t.complete_by), 'due_at', makegood_time(t.due_at),
                'quiet_at', makegood_time(t.quiet_at), 'finish_by', makegood_time(t.finish_by), 'cause', t.cause,
                'result', t.result::json, 'do_digest', encode(t.do_digest, 'hex'),
                'undo_digest', encode(t.undo_digest, 'hex'), 'error_code', t.error_code, 'error_text', t.error_text,
                'error_message', t.error_message, 'error_body', t.error_body) AS o
            FROM order_step t WHERE t.order_id = p.order_id) n),
        'events', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.version AS k, json_build_object('version', t.version, 'at', makegood_time(t.at),
                'cause_kind', t.cause_kind, 'cause', t.cause, 'by_whom', t.by_whom, 'step', t.step,
                'attempt', t.attempt, 'reason', t.reason, 'transitions', t.transitions, 'statuses', t.statuses,
                'owed', t.owed, 'given_up_at', makegood_time(t.given_up_at)) AS o
            FROM order_event t WHERE t.order_id = p.order_id ORDER BY t.version DESC LIMIT 10000) n),
        'alerts', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.alert_id AS k, json_build_object('alert_id', t.alert_id, 'code', t.code, 'subject', t.subject,
                'text', t.text, 'opened_at', makegood_time(t.opened_at), 'acked_at', makegood_time(t.acked_at),
                'acked_by', t.acked_by, 'closed_at', makegood_time(t.closed_at), 'workflow', t.workflow,
                'step', t.step, 'service', t.service, 'error_code', t.error_code, 'signature', t.signature) AS o
            FROM operator_alert t WHERE t.order_id = p.order_id ORDER BY t.alert_id DESC LIMIT 1000) n),
        'left_out', json_build_object(
            'revisions', (SELECT greatest(count(*) - 100, 0) FROM orders t WHERE t.order_id = p.order_id),
            'events', (SELECT greatest(count(*) - 10000, 0) FROM order_event t WHERE t.order_id = p.order_id),
            'alerts', (SELECT greatest(count(*) - 1000, 0) FROM operator_alert t WHERE t.order_id = p.order_id)))
    FROM order_process p WHERE p.order_id = wanted
$$;

-- As before, with the labels of what leaves: one bite of retention (0006_retention.sql).
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
            DELETE FROM order_label WHERE order_id = ANY (ids);
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
