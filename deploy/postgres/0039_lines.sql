-- serves programs from schema 1
--
-- Lines: orders of one key run one at a time, in the order in which they were accepted. Only orders of workflows with
-- `sequence` have rows here, and only until they end.

-- A key that orders are in line for. Its row's lock orders those that join the line and those that pass a turn on.
CREATE TABLE sequence_key (
    key        text COLLATE "C" PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 256),
    tail       bigint NOT NULL,              -- the last place that was given
    length     bigint NOT NULL,              -- places that are taken now
    -- The order at the head, and its generation; '': none yet.
    order_id   text COLLATE "C" NOT NULL DEFAULT '',
    generation bigint NOT NULL DEFAULT 0,
    is_called  boolean NOT NULL DEFAULT false, -- the head has taken its turn
    since      timestamptz NOT NULL DEFAULT clock_timestamp() -- when its turn came
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500);

-- Turns that were not taken: the leading supervisor looks here for messages that were lost.
CREATE INDEX sequence_key_uncalled ON sequence_key (since) WHERE NOT is_called;

-- A place belongs to one generation of its order: a restarted order goes to the end.
CREATE TABLE sequence_place (
    order_id   text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    key        text COLLATE "C" NOT NULL,
    place      bigint NOT NULL,
    joined_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (order_id, generation),
    CONSTRAINT sequence_place_once UNIQUE (key, place)
) WITH (autovacuum_vacuum_threshold = 500);

-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_cause DROP CONSTRAINT makegood_cause_word;
ALTER DOMAIN makegood_cause ADD CONSTRAINT makegood_cause_word CHECK (VALUE IN (
        'submitted', 'reattached', 'reply', 'overdue', 'due', 'expired', 'nudge', 'owed', 'unpublishable',
        'republished', 'unrenderable', 'request_changed', 'facts', 'signal', 'turn', 'resume', 'restart', 'settle',
        'skip', 'compensate', 'cancel', 'release')) NOT VALID;
ALTER DOMAIN makegood_reason DROP CONSTRAINT makegood_reason_word;
ALTER DOMAIN makegood_reason ADD CONSTRAINT makegood_reason_word CHECK (VALUE IN (
        'none', 'no_consumer', 'breaker_open', 'service_paused', 'window_full', 'unpublishable', 'reply_transient',
        'reply_permanent', 'reply_unknown', 'expired', 'asked_to_wait', 'attempts_exhausted', 'cooling_down',
        'remote_working', 'finish_expired', 'verified_absent', 'quiescing', 'order_expired', 'step_failed',
        'undo_failed', 'outcome_unknown', 'unrenderable', 'learn_failed', 'request_changed', 'when_false',
        'needs_skipped', 'skip_refused', 'requirement', 'expression', 'sleeping', 'awaiting_signal', 'timed_out',
        'signal_refused', 'in_line', 'state_lost', 'operator', 'order_turned_back')) NOT VALID;
ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'set_aside', 'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'order_passed_by',
        'queue_missing', 'standstill', 'bulk_stopped', 'newer_version', 'retention_stands', 'line_held',
        'statuses_given_up')) NOT VALID;
