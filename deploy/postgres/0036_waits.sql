-- serves programs from schema 1
--
-- A step that waits for a moment has a reason of its own.

ALTER DOMAIN makegood_reason DROP CONSTRAINT makegood_reason_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_reason ADD CONSTRAINT makegood_reason_word CHECK (VALUE IN (
        'none', 'no_consumer', 'breaker_open', 'service_paused', 'window_full', 'unpublishable',
        'reply_transient', 'reply_permanent', 'reply_unknown', 'expired', 'asked_to_wait',
        'attempts_exhausted', 'cooling_down', 'remote_working', 'finish_expired', 'verified_absent', 'quiescing',
        'order_expired', 'step_failed', 'undo_failed', 'outcome_unknown', 'unrenderable', 'learn_failed',
        'request_changed', 'when_false', 'needs_skipped', 'skip_refused', 'requirement', 'expression', 'sleeping', 'state_lost',
        'operator', 'order_turned_back')) NOT VALID;
