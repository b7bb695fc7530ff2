-- serves programs from schema 1
--
-- Statuses that a client's queue does not take have a bound: each such queue is a row, which says when one status is tried
-- there again; and what was tried in vain for long is given up. It stays in the order's story, is tried no more, and keeps
-- no order from leaving for the archive.
--
-- Programs of schema 11 and below mark a status as owed without naming its queue; whoever tries it again, names it.

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'batch_stopped', 'newer_version',
        'retention_stands', 'statuses_given_up')) NOT VALID;

ALTER TABLE order_event
    ADD COLUMN IF NOT EXISTS owed_to text,    -- the queue that did not take the statuses; NULL: none was tried yet
    ADD COLUMN given_up_at timestamptz;       -- they were owed for too long, and are owed no more

-- The oldest of a queue without a look at the others. Orders whose statuses arrive have no entry. It takes the place of an
-- index of the same cost. Where orders are many it is made before: deploy/README.md, Upgrade.
CREATE INDEX IF NOT EXISTS order_event_owed_to ON order_event (owed_to, at, order_id, version) WHERE owed;
DROP INDEX order_event_owed;

-- Clients' queues that did not take a status, as long as one is owed to them.
CREATE TABLE reply_queue (
    name     text PRIMARY KEY,
    since    timestamptz NOT NULL,           -- it last took one, or was first found not to
    tried_at timestamptz NOT NULL,           -- later than now: the clock went back, and ask_at means nothing
    ask_at   timestamptz NOT NULL,           -- one of its statuses is tried again; until then it costs nothing
    is_open  boolean NOT NULL DEFAULT false, -- it took the last one: many are tried at once
    marks    bigint NOT NULL DEFAULT 0       -- rises with each word on it: the sweep deletes no row that it has not seen
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX reply_queue_ask ON reply_queue (ask_at, name);
CREATE INDEX reply_queue_tried ON reply_queue (tried_at, name);
