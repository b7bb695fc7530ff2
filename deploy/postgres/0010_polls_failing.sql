-- serves programs from schema 1
--
-- The alert of accepted work that cannot be asked about.

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'batch_stopped', 'newer_version',
        'retention_stands')) NOT VALID;
