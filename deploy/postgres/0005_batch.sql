-- serves programs from schema 1
--
-- Bulk actions: orders that failed for one cause are resumed, compensated or cancelled together, a few of them first, no
-- faster than a rate, until too many fail again. What is to be done is a list, made once when the batch is started.
-- Orders change by commands to the schedulers, as ever: nothing here decides what becomes of one.
--
-- Programs of schema 4 and below know nothing of it, and their tool cannot close the alert batch_stopped: that
-- of this version can, also when theirs has acknowledged it.

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'unpublishable', 'poisoned',
        'dead_letter', 'mass_expiry', 'invariant_violation', 'batch_stopped')) NOT VALID;

CREATE DOMAIN makegood_batch_state AS text CONSTRAINT makegood_batch_state_word CHECK (VALUE IN (
        'canary', 'running', 'paused', 'stopped', 'done'));
CREATE DOMAIN makegood_batch_result AS text CONSTRAINT makegood_batch_result_word CHECK (VALUE IN (
        'waiting', 'asked', 'done', 'failed', 'skipped'));

CREATE TABLE batch (
    batch_id     text PRIMARY KEY,
    verb         text NOT NULL CONSTRAINT batch_verb CHECK (verb IN ('resume', 'compensate', 'cancel')),
    filter       text NOT NULL,              -- which failures: JSON, its members always in the same order
    reason       text NOT NULL,
    by_whom      text NOT NULL,
    canary       bigint NOT NULL CHECK (canary >= 0),               -- so many are tried before the rest
    rate_per_s   double precision NOT NULL CHECK (rate_per_s > 0),
    stop_percent bigint NOT NULL CHECK (stop_percent BETWEEN 0 AND 100), -- it stops when more than these fail
    state        makegood_batch_state NOT NULL DEFAULT 'canary',
    is_tried     boolean NOT NULL DEFAULT false,                    -- the canary has ended well
    version      bigint NOT NULL DEFAULT 1,  -- rises with every change of state: two operators notice each other
    orders       bigint,                     -- NULL only within the transaction that makes it
    -- The orders by result, kept with each change of theirs: so nobody has to count.
    waiting      bigint NOT NULL DEFAULT 0,
    asked        bigint NOT NULL DEFAULT 0,
    done         bigint NOT NULL DEFAULT 0,
    failed       bigint NOT NULL DEFAULT 0,
    skipped      bigint NOT NULL DEFAULT 0,
    asked_to     bigint NOT NULL DEFAULT 0,  -- the n up to which none waits any more; behind it all do, while it is open
    next_ask_at  timestamptz NOT NULL DEFAULT clock_timestamp(),    -- the rate's memory
    why          text,                       -- it stopped
    stopped_itself boolean NOT NULL DEFAULT false,                  -- once true, its alert has been raised
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at     timestamptz                 -- from when on nothing of it is under way
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500);

-- Who starts the same once more while it is under way gets the one that there is.
CREATE UNIQUE INDEX batch_open ON batch (verb, filter) WHERE state IN ('canary', 'running', 'paused');
CREATE INDEX batch_alive ON batch (created_at) WHERE ended_at IS NULL;
CREATE INDEX batch_newest ON batch (created_at, batch_id);

-- The alert of one that stopped by itself, by the owner's right: operators may raise no other.
CREATE FUNCTION makegood_batch_alert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO operator_alert (code, subject, text) VALUES ('batch_stopped', NEW.batch_id, NEW.why)
    ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_batch_alert() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER batch_alert AFTER UPDATE ON batch
    FOR EACH ROW WHEN (NEW.stopped_itself AND NOT OLD.stopped_itself) EXECUTE FUNCTION makegood_batch_alert();

CREATE TABLE batch_order (
    batch_id text NOT NULL,
    n        bigint NOT NULL CHECK (n >= 1), -- in the order in which they are asked for: the oldest failure first
    order_id text NOT NULL,
    version  bigint NOT NULL,                -- of the order, when the list was made: whoever was faster is noticed
    goal     makegood_goal NOT NULL,         -- the order's then: one that is turned back since has not gone well
    result   makegood_batch_result NOT NULL DEFAULT 'waiting',
    asked_at timestamptz,
    ended_at timestamptz,
    text     text,
    PRIMARY KEY (batch_id, n)
) WITH (fillfactor = 60);

-- An order is in one batch at a time.
CREATE UNIQUE INDEX batch_order_open ON batch_order (order_id) WHERE result IN ('waiting', 'asked');
CREATE INDEX batch_order_asked ON batch_order (batch_id, n) WHERE result = 'asked';
-- The newest that ended say whether it stops.
CREATE INDEX batch_order_ended ON batch_order (batch_id, ended_at) WHERE result IN ('done', 'failed');

-- One row: who drives the batches. (epoch, holder) fences whatever an earlier one still does.
CREATE TABLE batch_runner (
    name    text PRIMARY KEY,
    epoch   bigint NOT NULL CHECK (epoch >= 0),
    holder  text NOT NULL,
    seen_at timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500);

INSERT INTO batch_runner (name, epoch, holder) VALUES ('batches', 0, '');
