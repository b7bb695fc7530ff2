-- The rights of Makegood's roles. Every `makegood db migrate` applies them in one transaction to the existing roles
-- (roles.sql makes them). It revokes all rights and grants them anew, so that this file alone defines them.
--
-- The least that the SQL in common/io/store*.c needs, as a second barrier behind the program: a compromised supervisor
-- can neither change an order's state nor read a payload, and an operator's tool changes an order only by a command.
-- Locking a row needs the right to update one of its columns.
--
-- While two versions of the programs run side by side this file must satisfy both: a right is taken away one version
-- after the last program that used it.

DO $$
DECLARE
    holder text;
    target text;
    wanted record;
BEGIN
    FOREACH holder IN ARRAY ARRAY['makegood_scheduler', 'makegood_supervisor', 'makegood_operator', 'makegood_gateway', 'makegood_reader'] LOOP
        CONTINUE WHEN to_regrole(holder) IS NULL;
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM %I', current_schema(), holder);
        EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM %I', current_schema(), holder);
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), holder);
    END LOOP;

    FOR wanted IN SELECT * FROM (VALUES
        -- moves orders; payloads, steps and events are written once or changed, never deleted
        ('makegood_scheduler', 'orders', 'SELECT, INSERT'),
        ('makegood_scheduler', 'order_process', 'SELECT, INSERT, UPDATE (process_state, goal, reason, version, seq,'
            ' generation, failure_count, locked_by, complete_by, wake_at, revision, reply_to, correlation_id, traceparent,'
            ' failure, wants_step_status, updated_at)'),
        ('makegood_scheduler', 'order_step', 'SELECT, INSERT, UPDATE'),
        ('makegood_scheduler', 'order_label', 'INSERT (order_id, name, value, created_at)'),
        ('makegood_scheduler', 'sequence_key', 'SELECT, INSERT, UPDATE, DELETE'),
        ('makegood_scheduler', 'sequence_place', 'SELECT, INSERT, DELETE'),
        ('makegood_scheduler', 'order_event', 'SELECT, INSERT, UPDATE (owed, owed_asked_at, owed_to, given_up_at)'),
        ('makegood_scheduler', 'signal_by_key', 'SELECT, INSERT, UPDATE (payload, received_at, taken_by)'),
        ('makegood_scheduler', 'reply_queue', 'SELECT, INSERT, UPDATE'),
        ('makegood_scheduler', 'operator_alert', 'SELECT (code, subject, closed_at),'
            ' INSERT (code, subject, order_id, text, workflow, step, service, error_code, signature),'
            ' UPDATE (closed_at)'),
        ('makegood_scheduler', 'order_aside', 'SELECT, INSERT (order_id, by_whom, reason)'),
        ('makegood_scheduler', 'service_state', 'SELECT, INSERT, UPDATE, DELETE'),
        ('makegood_scheduler', 'service_control', 'SELECT (service, is_paused, paused_until)'),
        ('makegood_scheduler', 'workflow', 'SELECT'),
        -- moves schedules on, and keeps the newest ends of their slots
        ('makegood_scheduler', 'schedule', 'SELECT, UPDATE (upcoming, next_slot, next_at, skipped, fired)'),
        ('makegood_scheduler', 'schedule_run', 'SELECT, INSERT, UPDATE, DELETE'),

        -- finds due orders and steps, counts open ones, records its requests, leads:
        -- no payload, no result, no change of an order's state
        ('makegood_supervisor', 'order_process', 'SELECT (order_id, process_state, goal, version, seq, complete_by,'
            ' wake_at, workflow, created_at, updated_at, is_high), UPDATE (wake_at)'),
        ('makegood_supervisor', 'order_step', 'SELECT (order_id, step, service, attempt, state, reason, complete_by, due_at,'
            ' parked_high, parked_until, is_accepted), UPDATE (parked_high, parked_until)'),
        ('makegood_supervisor', 'step_awaiting', 'SELECT'),
        ('makegood_supervisor', 'order_event', 'SELECT (order_id, version, at, owed, owed_asked_at, owed_to),'
            ' UPDATE (owed_asked_at)'),
        -- of signals and lines no key, which may hold a part of a payload
        ('makegood_supervisor', 'signal_by_key', 'SELECT (signal, signal_id, by_whom, received_at, taken_by), DELETE'),
        ('makegood_supervisor', 'sequence_key', 'SELECT (order_id, generation, length, is_called, since)'),
        ('makegood_supervisor', 'sequence_place', 'SELECT (order_id, generation, joined_at)'),
        ('makegood_supervisor', 'reply_queue', 'SELECT, UPDATE (tried_at, ask_at, is_open), DELETE'),
        ('makegood_supervisor', 'operator_alert', 'SELECT (code, subject, text, opened_at, closed_at),'
            ' INSERT (code, subject, order_id, text), UPDATE (text, closed_at)'),
        ('makegood_supervisor', 'order_aside', 'SELECT (order_id)'),
        ('makegood_supervisor', 'schedule', 'SELECT (name, next_slot, next_at, is_paused)'),
        ('makegood_supervisor', 'supervisor_leader', 'SELECT, UPDATE (epoch, holder, seen_at, swept_at)'),
        ('makegood_supervisor', 'service_control', 'SELECT (service, is_paused, paused_until, concurrency, rate_per_s,'
            ' version)'),
        ('makegood_supervisor', 'service_state', 'SELECT (service, instance, breaker, is_ready, in_flight, reported_at, reason,'
            ' process, is_prober, calls)'),
        -- counts the calls and orders of each minute
        ('makegood_supervisor', 'counted_process', 'SELECT, INSERT, UPDATE, DELETE'),
        ('makegood_supervisor', 'minute_count', 'SELECT, INSERT, UPDATE, DELETE'),
        -- moves ended orders to the archive, and sees how many
        ('makegood_supervisor', 'makegood_retire(bigint, text, integer)', 'EXECUTE'),
        ('makegood_supervisor', 'makegood_order_locks(text[])', 'EXECUTE'),

        -- sees everything; orders change by commands to the schedulers
        ('makegood_operator', '*', 'SELECT'),
        ('makegood_operator', 'operator_alert', 'UPDATE (acked_at, acked_by, closed_at)'),
        ('makegood_operator', 'workflow', 'INSERT (name, version, definition), UPDATE (loaded_at)'),
        ('makegood_operator', 'schedule_run', 'INSERT (name, slot, what, slots, text, by_whom), DELETE'),
        ('makegood_operator', 'schedule', 'INSERT (name, workflow, zone, definition, upcoming, next_slot, next_at, version, by_whom,'
            ' reason), UPDATE (workflow, zone, definition, upcoming, next_slot, next_at, is_paused, version, by_whom, reason,'
            ' changed_at), DELETE'),
        ('makegood_operator', 'service_control', 'INSERT (service, is_paused, paused_until, concurrency, rate_per_s, version,'
            ' reason, by_whom), UPDATE (is_paused, paused_until, concurrency, rate_per_s, version, reason, by_whom, set_at), DELETE'),
        ('makegood_operator', 'service_state', 'DELETE'), -- of a service that is gone
        ('makegood_operator', 'order_aside', 'INSERT (order_id, by_whom, reason), DELETE'),
        ('makegood_operator', 'operator_action', 'INSERT (by_whom, verb, subject, reason, detail)'),
        ('makegood_operator', 'retention', 'UPDATE (hot, keep, by_whom, reason, set_at)'),
        -- starts and drives bulk actions; the alert of one that stopped is raised by a trigger
        ('makegood_operator', 'bulk', 'INSERT (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent),'
            ' UPDATE (state, is_tried, version, orders, waiting, asked, done, failed, skipped, asked_to, next_ask_at, why,'
            ' stopped_itself, ended_at)'),
        ('makegood_operator', 'bulk_order', 'INSERT (bulk_id, n, order_id, version, goal),'
            ' UPDATE (result, asked_at, ended_at, text)'),
        ('makegood_operator', 'bulk_runner', 'UPDATE (epoch, holder, seen_at)'),
        ('makegood_operator', 'makegood_order_locks(text[])', 'EXECUTE'),

        -- looks up the orders of its clients, where their steps stand, and the demands of a workflow on a submission: no payload,
        -- no result, no signal
        ('makegood_gateway', 'orders', 'SELECT (order_id, revision, workflow, digest, client, received_at)'),
        ('makegood_gateway', 'order_process', 'SELECT'),
        ('makegood_gateway', 'order_label', 'SELECT'),
        ('makegood_gateway', 'sequence_key', 'SELECT (key, length)'),
        ('makegood_gateway', 'sequence_place', 'SELECT (order_id, key, place)'),
        ('makegood_gateway', 'order_step', 'SELECT (order_id, position, step, service, state, kind, reason, maybe,'
            ' is_undo_dispatched, is_refused, is_accepted, attempt, failure_count, cool_down_count, generation, complete_by,'
            ' due_at, quiet_at, finish_by, error_code, error_text, error_message)'),
        ('makegood_gateway', 'order_event', 'SELECT (order_id, version, at, transitions, statuses)'),
        ('makegood_gateway', 'workflow', 'SELECT'),
        ('makegood_gateway', 'operator_alert', 'SELECT (code, subject, order_id, closed_at)'),
        ('makegood_gateway', 'makegood_archived_order(text, text)', 'EXECUTE'),
        ('makegood_gateway', 'makegood_archived_statuses(text, text, bigint)', 'EXECUTE'),

        ('makegood_reader', '*', 'SELECT'),
        ('makegood_reader', 'makegood_order_locks(text[])', 'EXECUTE'),

        -- every program looks whether the schema serves it
        ('makegood_scheduler', 'makegood_migration', 'SELECT'),
        ('makegood_scheduler', 'makegood_schema', 'SELECT'),
        ('makegood_scheduler', 'process_state', 'SELECT, INSERT, UPDATE, DELETE'),
        ('makegood_gateway', 'makegood_migration', 'SELECT'),
        ('makegood_gateway', 'makegood_schema', 'SELECT'),
        ('makegood_gateway', 'process_state', 'SELECT, INSERT, UPDATE, DELETE'),
        ('makegood_supervisor', 'makegood_migration', 'SELECT'),
        ('makegood_supervisor', 'makegood_schema', 'SELECT'),
        ('makegood_supervisor', 'process_state', 'SELECT, INSERT, UPDATE, DELETE')
    ) AS list (holder, target, rights) LOOP
        CONTINUE WHEN to_regrole(wanted.holder) IS NULL;
        target := CASE wanted.target WHEN '*' THEN format('ALL TABLES IN SCHEMA %I', current_schema())
                                     ELSE format('TABLE %I.%I', current_schema(), wanted.target) END;
        IF wanted.rights = 'EXECUTE' THEN
            target := format('FUNCTION %I.%s', current_schema(), wanted.target);
        END IF;
        EXECUTE format('GRANT %s ON %s TO %I', wanted.rights, target, wanted.holder);
    END LOOP;
END $$;
