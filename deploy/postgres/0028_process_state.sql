-- serves programs from schema 1
--
-- The heartbeats of processes: each writes its row every few seconds, so that another can see one that is frozen, killed or
-- cut off, and one that lives and does not move.

CREATE TABLE process_state (
    kind         text COLLATE "C" NOT NULL,  -- scheduler, supervisor or gateway
    instance     text COLLATE "C" NOT NULL,
    started_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    in_hand      bigint NOT NULL,            -- messages that it holds
    stands_since timestamptz,                -- no work has ended since then, though some waits; NULL: it moves
    oldest_order text NOT NULL,              -- of the work that waits; '': none, or of no order
    reason       text NOT NULL,              -- the last error of the work that waits
    PRIMARY KEY (kind, instance)
) WITH (fillfactor = 50);

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'set_aside', 'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'order_passed_by', 'queue_missing',
        'standstill', 'bulk_stopped', 'newer_version', 'retention_stands', 'statuses_given_up')) NOT VALID;
