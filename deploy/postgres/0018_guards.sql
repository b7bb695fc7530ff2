-- serves programs from schema 1
--
-- Guards of steps: the cause of their verdicts, and the reasons.

ALTER DOMAIN makegood_cause DROP CONSTRAINT makegood_cause_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_cause ADD CONSTRAINT makegood_cause_word CHECK (VALUE IN (
        'submitted', 'reattached', 'reply', 'overdue', 'due', 'expired', 'nudge', 'owed', 'unpublishable', 'republished',
        'unrenderable', 'request_changed', 'facts', 'resume', 'restart', 'settle', 'skip', 'compensate', 'cancel')) NOT VALID;
ALTER DOMAIN makegood_reason DROP CONSTRAINT makegood_reason_word;
ALTER DOMAIN makegood_reason ADD CONSTRAINT makegood_reason_word CHECK (VALUE IN (
        'none', 'no_consumer', 'breaker_open', 'service_paused', 'window_full', 'unpublishable',
        'reply_transient', 'reply_permanent', 'reply_unknown', 'expired', 'attempts_exhausted',
        'cooling_down', 'remote_working', 'finish_expired', 'verified_absent', 'quiescing', 'order_expired',
        'step_failed', 'undo_failed', 'outcome_unknown', 'unrenderable', 'request_changed', 'when_false',
        'needs_skipped', 'skip_refused', 'requirement', 'expression', 'state_lost', 'operator',
        'order_turned_back')) NOT VALID;
