-- serves programs from schema 1
--
-- Steps that wait for the gate of their service (it is paused, its breaker is open, nothing consumes its queue, or its
-- window is full) are found by service. So the sweep passes them by, and they cost nothing while the gate is closed.
--
-- Both columns are NULL of a step that waits for nothing or for a moment only, so a plain order enters no index by them.
-- Schedulers of schema 10 and below set neither: the sweep marks what they have parked when it finds it.

ALTER TABLE order_step
    ADD COLUMN IF NOT EXISTS parked_high  boolean,     -- parked, and whether its queue is the one of high priority
    ADD COLUMN IF NOT EXISTS parked_until timestamptz; -- not asked about before: a hint, which the leading supervisor pushes forward

-- Where orders are many it is made before, without holding up others: deploy/README.md, Upgrade.
CREATE INDEX IF NOT EXISTS order_step_parked ON order_step (service, parked_high, parked_until) WHERE parked_high IS NOT NULL;
