-- serves programs from schema 1
--
-- Signals with a key leave the table after a while, taken or not: the oldest are found by their time.

CREATE INDEX signal_by_key_received ON signal_by_key (received_at);

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'set_aside', 'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'order_passed_by',
        'queue_missing', 'standstill', 'bulk_stopped', 'newer_version', 'retention_stands', 'line_held',
        'statuses_given_up', 'schedule_missed', 'signal_unmatched')) NOT VALID;
