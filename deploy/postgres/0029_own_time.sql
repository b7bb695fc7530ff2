-- serves programs from schema 1
--
-- What belongs to an order and was lost on its way: its own time, and the result that an undo needs.

-- The `complete_within` of its submission; 0: its workflow's. Orders of earlier programs keep the moment that they have, and
-- an operator's command gives them the workflow's time, as before.
ALTER TABLE order_process ADD COLUMN complete_within_ms bigint NOT NULL DEFAULT 0;

-- The result to which the undo refers, if a later answer lacks it; NULL: `result` has all.
ALTER TABLE order_step ADD COLUMN undo_result text;
