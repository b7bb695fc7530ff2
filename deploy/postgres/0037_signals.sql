-- serves programs from schema 1
--
-- A signal is a cause. A step that waits for signals keeps those that came, and the key by which they find its order.

ALTER DOMAIN makegood_cause DROP CONSTRAINT makegood_cause_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_cause ADD CONSTRAINT makegood_cause_word CHECK (VALUE IN (
        'submitted', 'reattached', 'reply', 'overdue', 'due', 'expired', 'nudge', 'owed', 'unpublishable', 'republished',
        'unrenderable', 'request_changed', 'facts', 'signal', 'resume', 'restart', 'settle', 'skip', 'compensate',
        'cancel')) NOT VALID;

ALTER DOMAIN makegood_reason DROP CONSTRAINT makegood_reason_word;
ALTER DOMAIN makegood_reason ADD CONSTRAINT makegood_reason_word CHECK (VALUE IN (
        'none', 'no_consumer', 'breaker_open', 'service_paused', 'window_full', 'unpublishable',
        'reply_transient', 'reply_permanent', 'reply_unknown', 'expired', 'asked_to_wait',
        'attempts_exhausted', 'cooling_down', 'remote_working', 'finish_expired', 'verified_absent', 'quiescing',
        'order_expired', 'step_failed', 'undo_failed', 'outcome_unknown', 'unrenderable', 'learn_failed',
        'request_changed', 'when_false', 'needs_skipped', 'skip_refused', 'requirement', 'expression', 'sleeping',
        'awaiting_signal', 'timed_out', 'signal_refused', 'state_lost', 'operator', 'order_turned_back')) NOT VALID;

ALTER TABLE order_step ADD COLUMN open text;

-- Signals with a key, until an order with that key has taken them. `client`: the sender, "" for those of a shared exchange;
-- null: an operator. `taken_by`: the order; "": refused.
CREATE TABLE signal_by_key (
    signal text COLLATE "C" NOT NULL,
    signal_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    by_whom text NOT NULL,
    client text COLLATE "C",
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_by text COLLATE "C",
    PRIMARY KEY (signal, signal_id)
);
CREATE INDEX signal_by_key_free ON signal_by_key (signal, key, received_at) WHERE taken_by IS NULL;

-- For those who count the steps that wait for a signal, and may not read what came (`open`).
CREATE VIEW step_awaiting AS
    SELECT order_id, step FROM order_step WHERE open IS NOT NULL AND reason = 'awaiting_signal';

-- With the signals that have come and have not ended their step.
CREATE OR REPLACE FUNCTION makegood_dossier(wanted text, is_shown boolean DEFAULT false) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('v', 1, 'order_id', p.order_id, 'exported_at', makegood_time(clock_timestamp()),
        'order', json_build_object('state', p.process_state, 'goal', p.goal, 'reason', p.reason,
            'version', p.version, 'seq', p.seq, 'generation', p.generation, 'failure_count', p.failure_count,
            'locked_by', p.locked_by, 'complete_by', makegood_time(p.complete_by), 'wake_at', makegood_time(p.wake_at),
            'workflow', p.workflow, 'workflow_version', p.workflow_version, 'revision', p.revision,
            'reply_to', p.reply_to, 'correlation_id', p.correlation_id, 'traceparent', p.traceparent,
            'is_high', p.is_high, 'wants_step_status', p.wants_step_status, 'failure', makegood_value(p.failure, is_shown),
            'created_at', makegood_time(p.created_at), 'updated_at', makegood_time(p.updated_at)),
        'labels', (SELECT coalesce(json_object_agg(t.name, t.value ORDER BY t.name), '{}')
            FROM order_label t WHERE t.order_id = p.order_id),
        'output', CASE WHEN p.process_state = 'processed'
            THEN (CASE WHEN is_shown THEN makegood_shown_status(p.order_id, 'processed')
                ELSE makegood_last_status(p.order_id, 'processed') END)->'output' END,
        'workflow', (SELECT json_build_object('name', w.name, 'version', w.version,
                'loaded_at', makegood_time(w.loaded_at), 'definition', makegood_value(w.definition, is_shown))
            FROM workflow w WHERE w.name = p.workflow AND w.version = p.workflow_version),
        'revisions', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.revision AS k, json_build_object('revision', t.revision, 'received_at', makegood_time(t.received_at),
                'workflow', t.workflow, 'workflow_version', t.workflow_version, 'is_high', t.is_high,
                'digest', encode(t.digest, 'hex'), 'client', t.client, 'payload', makegood_value(t.payload, is_shown)) AS o
            FROM orders t WHERE t.order_id = p.order_id ORDER BY t.revision DESC LIMIT 100) n),
        'steps', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.position AS k, json_build_object('position', t.position, 'step', t.step, 'service', t.service,
                'state', t.state, 'kind', t.kind, 'reason', t.reason, 'maybe', t.maybe,
                'is_undo_dispatched', t.is_undo_dispatched, 'is_refused', t.is_refused, 'is_accepted', t.is_accepted,
                'attempt', t.attempt, 'failure_count', t.failure_count,
                'poll_failure_count', t.poll_failure_count, 'cool_down_count', t.cool_down_count,
                'generation', t.generation, 'complete_by', makegood_time(t.complete_by), 'due_at', makegood_time(t.due_at),
                'quiet_at', makegood_time(t.quiet_at), 'finish_by', makegood_time(t.finish_by), 'cause', t.cause,
                'result', makegood_value(t.result, is_shown), 'do_digest', encode(t.do_digest, 'hex'),
                'undo_digest', encode(t.undo_digest, 'hex'), 'error_code', t.error_code, 'error_text', t.error_text,
                'error_message', t.error_message, 'error_body', t.error_body,
                'unreadable', t.unreadable, 'open', makegood_value(t.open, is_shown)) AS o
            FROM order_step t WHERE t.order_id = p.order_id) n),
        'events', (SELECT coalesce(json_agg(n.o ORDER BY n.k), '[]') FROM (
            SELECT t.version AS k, json_build_object('version', t.version, 'at', makegood_time(t.at),
                'cause_kind', t.cause_kind, 'cause', t.cause, 'by_whom', t.by_whom, 'step', t.step,
                'attempt', t.attempt, 'reason', t.reason, 'transitions', makegood_value(t.transitions, is_shown),
                'statuses', makegood_value(t.statuses, is_shown),
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
