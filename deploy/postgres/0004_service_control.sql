-- serves programs from schema 1
--
-- What operators want of a remote service: that nobody calls it for a while, or only so many at once and so many a
-- second. One row a service; a missing one means that nothing is wanted. Each change is a line of operator_action, in
-- the same transaction.
--
-- Programs of schema 3 and below know nothing of it: their schedulers send to a paused service, their agents obey no
-- limit.

CREATE TABLE service_control (
    service      text PRIMARY KEY,
    is_paused    boolean NOT NULL,
    paused_until timestamptz,                                -- NULL: until somebody resumes it
    concurrency  bigint CHECK (concurrency > 0),             -- of all its agents together; NULL: as their files say
    rate_per_s   double precision CHECK (rate_per_s > 0),
    version      bigint NOT NULL CHECK (version >= 1),       -- rises with every change: two operators notice each other
    reason       text NOT NULL,
    by_whom      text NOT NULL,
    set_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Which version of it an agent obeys, as it last said; 0: it has heard of none.
ALTER TABLE service_state ADD COLUMN control_version bigint NOT NULL DEFAULT 0;

-- What people did that no order's story tells; written once.
CREATE TABLE operator_action (
    action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    by_whom   text NOT NULL,                     -- as they named themselves
    role      text NOT NULL DEFAULT session_user, -- as the database knows them
    verb      text NOT NULL,
    subject   text NOT NULL,
    reason    text NOT NULL,
    detail    json NOT NULL                      -- what it became
);
