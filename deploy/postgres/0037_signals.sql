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
