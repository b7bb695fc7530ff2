-- serves programs from schema 1
--
-- A callback that comes after the undo of its work has an alert. A schedule counts the orders that it made: of those who judge a slot at
-- one moment, the first moves the number on, and the others judge again. The slots of a schedule that is deleted stay while their orders
-- are open, for a schedule of the same name.

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'set_aside', 'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'order_passed_by',
        'queue_missing', 'standstill', 'bulk_stopped', 'newer_version', 'retention_stands', 'line_held',
        'statuses_given_up', 'schedule_missed', 'signal_unmatched', 'late_callback')) NOT VALID;

ALTER TABLE schedule ADD COLUMN fired bigint NOT NULL DEFAULT 0;
ALTER TABLE schedule_run DROP CONSTRAINT schedule_run_name_fkey;
