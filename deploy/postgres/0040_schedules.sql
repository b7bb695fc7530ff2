-- serves programs from schema 1
--
-- Schedules, and the ends of their slots. A slot is a time at which a schedule makes an order.

CREATE TABLE schedule (
    name       text COLLATE "C" PRIMARY KEY,
    workflow   text COLLATE "C" NOT NULL,
    zone       text NOT NULL,
    definition text NOT NULL,          -- the loaded bytes
    upcoming   timestamptz[] NOT NULL, -- the next slots; {}: there is none any more
    next_slot  timestamptz,            -- the first of them
    next_at    timestamptz,            -- when it is due: the slot and its jitter
    is_paused  boolean NOT NULL DEFAULT false,
    skipped    bigint NOT NULL DEFAULT 0, -- slots without an order, of all time
    version    bigint NOT NULL,        -- rises with each operator's change
    by_whom    text NOT NULL,
    reason     text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX schedule_due ON schedule (next_at) WHERE NOT is_paused AND next_at IS NOT NULL;

CREATE TABLE schedule_run (
    name     text COLLATE "C" NOT NULL REFERENCES schedule ON DELETE CASCADE,
    slot     timestamptz NOT NULL,
    what     text NOT NULL CONSTRAINT schedule_run_what CHECK (what IN ('order', 'overlap', 'missed', 'refused')),
    order_id text COLLATE "C",        -- of an order
    slots    bigint NOT NULL,         -- those that this row stands for: many of an outage
    text     text NOT NULL,           -- why there is no order
    by_whom  text NOT NULL,           -- a supervisor or an operator
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (name, slot)
);

ALTER DOMAIN makegood_cause DROP CONSTRAINT makegood_cause_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_cause ADD CONSTRAINT makegood_cause_word CHECK (VALUE IN (
        'submitted', 'reattached', 'reply', 'overdue', 'due', 'expired', 'nudge', 'owed', 'fire', 'unpublishable',
        'republished', 'unrenderable', 'request_changed', 'facts', 'signal', 'turn', 'resume', 'restart', 'settle',
        'skip', 'compensate', 'cancel', 'release')) NOT VALID;

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'set_aside', 'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'order_passed_by',
        'queue_missing', 'standstill', 'bulk_stopped', 'newer_version', 'retention_stands', 'line_held',
        'statuses_given_up', 'schedule_missed')) NOT VALID;
