-- serves programs from schema 1
--
-- Which of an agent's reports a row is of, so that one that is overtaken on its way changes nothing; and who probes a
-- service that is down, so that a supervisor that takes over the lead goes on with the word of the one before.
--
-- Agents of schema 6 and below say none of it: their reports count in the order in which they are stored. Their
-- schedulers leave these columns as they are.

ALTER TABLE service_state
    ADD COLUMN process   bigint NOT NULL DEFAULT 0,     -- another one under the same instance name has another; 0: it does not say
    ADD COLUMN sequence  bigint NOT NULL DEFAULT 0,     -- rises with each report of the process
    ADD COLUMN is_prober boolean NOT NULL DEFAULT false; -- by the last word that it heard
