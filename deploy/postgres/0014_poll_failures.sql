-- serves programs from schema 1
--
-- Polls of accepted work that failed in a row: a count beside that of the do's failures, which goes on when the work is
-- lost. In rows of programs of schema 13 and below failure_count has counted these polls; a do of such a step may have
-- that many attempts fewer.

ALTER TABLE order_step ADD COLUMN poll_failure_count bigint NOT NULL DEFAULT 0 CHECK (poll_failure_count >= 0);
