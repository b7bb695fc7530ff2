-- serves programs from schema 1
--
-- Why a good answer's body gave no result. It was in the columns of the last failure, where a later one replaced it.

ALTER TABLE order_step ADD COLUMN unreadable text;
-- As the orders of earlier programs have it.
UPDATE order_step SET unreadable = error_text WHERE error_code = 'result_unreadable' AND result IS NULL;

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
                'unreadable', t.unreadable) AS o
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
