-- Makegood's tables, whole.
--
-- What decides: order_process (one row an order, the version guards every write) and order_step (one row a step, born at
-- its first change). What tells: order_event, one row a cause. orders is insert-only: payloads, one row a revision.
--
-- No foreign keys: each write carries the whole truth about its order in one statement, and keys begin with order_id, so
-- that the tables can be partitioned or spread over servers. No index on a column that changes with every transition,
-- but for wake_at, which is written only when it gets earlier: so nearly all updates are HOT. A batch writes all rows of
-- a page at once, since they came together: pages are left more than half empty, so that each finds room beside itself.
--
-- Words are those of common/core/words.def; a test compares them. To add one, replace the domain's constraint in a new
-- file of this folder.

CREATE DOMAIN makegood_order_state AS text CONSTRAINT makegood_order_state_word CHECK (VALUE IN (
        'pending', 'processing', 'processed', 'compensating', 'compensated', 'cancelled', 'error'));
CREATE DOMAIN makegood_step_state AS text CONSTRAINT makegood_step_state_word CHECK (VALUE IN (
        'pending', 'running', 'waiting', 'unknown', 'done', 'failed', 'skipped', 'undo_pending',
        'undo_running', 'undo_waiting', 'undone', 'undo_failed'));
CREATE DOMAIN makegood_cause AS text CONSTRAINT makegood_cause_word CHECK (VALUE IN (
        'submitted', 'reattached', 'reply', 'overdue', 'due', 'expired', 'nudge', 'owed', 'unpublishable', 'republished',
        'unrenderable', 'request_changed', 'resume', 'restart', 'settle', 'skip', 'compensate', 'cancel'));
CREATE DOMAIN makegood_kind AS text CONSTRAINT makegood_kind_word CHECK (VALUE IN (
        'do', 'undo', 'verify'));
CREATE DOMAIN makegood_goal AS text CONSTRAINT makegood_goal_word CHECK (VALUE IN (
        'processed', 'compensated', 'cancelled'));
CREATE DOMAIN makegood_reason AS text CONSTRAINT makegood_reason_word CHECK (VALUE IN (
        'none', 'no_consumer', 'breaker_open', 'service_paused', 'window_full', 'unpublishable',
        'reply_transient', 'reply_permanent', 'reply_unknown', 'expired', 'attempts_exhausted',
        'cooling_down', 'remote_working', 'finish_expired', 'verified_absent', 'quiescing', 'order_expired',
        'step_failed', 'undo_failed', 'outcome_unknown', 'unrenderable', 'request_changed', 'state_lost',
        'operator', 'order_turned_back'));
CREATE DOMAIN makegood_alert AS text CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'unpublishable', 'poisoned',
        'dead_letter', 'mass_expiry', 'invariant_violation'));

-- Payloads as they came: text, because a number must stay digit for digit. Revision 1 is the submission; an operator's
-- repair adds the next.
CREATE TABLE orders (
    order_id         text NOT NULL,
    revision         bigint NOT NULL CHECK (revision >= 1),
    workflow         text NOT NULL,
    workflow_version bigint NOT NULL,
    payload          text NOT NULL,
    digest           bytea NOT NULL CHECK (octet_length(digest) = 32), -- SHA-256 of the submission's body
    is_high          boolean NOT NULL,
    received_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (order_id, revision)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

CREATE TABLE order_process (
    order_id          text PRIMARY KEY,
    process_state     makegood_order_state NOT NULL,
    goal              makegood_goal NOT NULL,
    reason            makegood_reason NOT NULL,
    version           bigint NOT NULL CHECK (version >= 1),    -- rises with every transition: the guard
    seq               bigint NOT NULL CHECK (seq >= 0),        -- of the last status
    generation        bigint NOT NULL CHECK (generation >= 0), -- rises with restart
    failure_count     bigint NOT NULL CHECK (failure_count >= 0),
    locked_by         text NOT NULL,                           -- the instance that wrote last
    complete_by       timestamptz,                             -- bounds forward work; NULL: nothing does
    wake_at           timestamptz,                             -- the supervisor looks no later; NULL: terminal
    workflow          text NOT NULL,
    workflow_version  bigint NOT NULL,
    revision          bigint NOT NULL CHECK (revision >= 1),   -- of the payload
    reply_to          text,
    correlation_id    text,
    traceparent       text,
    is_high           boolean NOT NULL,
    wants_step_status boolean NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at        timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.05);

-- The sweep's only index: open orders by the moment at which something must be asked about them.
CREATE INDEX order_process_wake ON order_process (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE order_step (
    order_id           text NOT NULL,
    step               text NOT NULL,
    position           integer NOT NULL CHECK (position BETWEEN 0 AND 63), -- in its workflow version
    service            text NOT NULL,
    state              makegood_step_state NOT NULL,
    kind               makegood_kind NOT NULL,    -- of the attempt that runs, or ran last
    reason             makegood_reason NOT NULL,
    maybe              boolean NOT NULL,          -- it may have happened
    is_undo_dispatched boolean NOT NULL,
    is_refused         boolean NOT NULL,
    is_accepted        boolean NOT NULL,
    attempt            bigint NOT NULL CHECK (attempt >= 0), -- the fencing token: never reset
    failure_count      bigint NOT NULL CHECK (failure_count >= 0),
    cool_down_count    bigint NOT NULL CHECK (cool_down_count >= 0),
    generation         bigint NOT NULL CHECK (generation >= 0), -- of the idempotency key
    complete_by        timestamptz, -- of the running attempt
    due_at             timestamptz, -- when the supervisor should ask about it
    quiet_at           timestamptz, -- before this an earlier attempt may still act
    finish_by          timestamptz, -- until when accepted work may take
    cause              text,        -- what dispatched the running attempt
    result             text,        -- JSON of a done step, as it came
    do_digest          bytea CHECK (octet_length(do_digest) = 32),   -- of the request under the present key
    undo_digest        bytea CHECK (octet_length(undo_digest) = 32),
    error_code         text,
    error_text         text,
    PRIMARY KEY (order_id, step)
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.05);

-- One row a cause: what came, what it changed, what the client was told.
CREATE TABLE order_event (
    order_id      text NOT NULL,
    version       bigint NOT NULL CHECK (version >= 1), -- the order's after this cause
    cause_kind    makegood_cause NOT NULL,
    cause         text NOT NULL,                        -- its identity: makes "again" recognisable
    by_whom       text NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    step          text,
    attempt       bigint NOT NULL CHECK (attempt >= 0),
    reason        text,
    transitions   json,
    statuses      json,
    owed          boolean NOT NULL,                     -- the statuses have not all gone out
    owed_asked_at timestamptz,                          -- the leader's memory of having asked for them
    PRIMARY KEY (order_id, version)
) WITH (fillfactor = 95, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX order_event_owed ON order_event (order_id, version) WHERE owed;

CREATE TABLE operator_alert (
    alert_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    code      makegood_alert NOT NULL,
    subject   text NOT NULL,
    order_id  text,
    text      text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    acked_at  timestamptz,
    acked_by  text,
    closed_at timestamptz
);

-- One open alert for one cause, however often it is found.
CREATE UNIQUE INDEX operator_alert_open ON operator_alert (code, subject) WHERE closed_at IS NULL;

-- What agents last said of their service; a report runs out by its age.
CREATE TABLE service_state (
    service     text NOT NULL,
    instance    text NOT NULL,
    breaker     text NOT NULL CONSTRAINT service_state_breaker CHECK (breaker IN ('closed', 'open', 'half_open')),
    is_ready    boolean NOT NULL,
    in_flight   bigint NOT NULL,
    concurrency bigint NOT NULL,
    reason      text,
    reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (service, instance)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500);

CREATE TABLE workflow (
    name       text NOT NULL,
    version    bigint NOT NULL CHECK (version >= 1),
    definition text NOT NULL,
    loaded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (name, version)
);

-- One row: who leads the supervisors. (epoch, holder) fences whatever an earlier leader still does.
CREATE TABLE supervisor_leader (
    name     text PRIMARY KEY,
    epoch    bigint NOT NULL CHECK (epoch >= 0),
    holder   text NOT NULL,
    seen_at  timestamptz,
    swept_at timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500);

INSERT INTO supervisor_leader (name, epoch, holder) VALUES ('supervisor', 0, '');

-- The process record as the Scheduler Agent Supervisor pattern describes it, in the pattern's four words.
CREATE VIEW pattern_process AS
SELECT order_id AS OrderID,
       locked_by AS LockedBy,
       complete_by AS CompleteBy,
       CASE process_state
           WHEN 'pending' THEN 'Pending'
           WHEN 'processing' THEN 'Processing'
           WHEN 'compensating' THEN 'Processing'
           WHEN 'processed' THEN 'Processed'
           WHEN 'compensated' THEN 'Processed'
           WHEN 'cancelled' THEN 'Processed'
           WHEN 'error' THEN 'Error'
       END AS ProcessState,
       failure_count AS FailureCount
  FROM order_process;
