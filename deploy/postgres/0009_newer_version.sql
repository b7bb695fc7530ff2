-- serves programs from schema 1
--
-- The alert of messages that only a newer version can read, which were set aside after every running scheduler had had
-- its turn. Acknowledging it closes it; programs of schema 8 and below only acknowledge it.

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'unpublishable', 'poisoned',
        'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'batch_stopped', 'newer_version',
        'retention_stands')) NOT VALID;
