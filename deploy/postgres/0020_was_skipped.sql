-- serves programs from schema 1
--
-- A step that an operator skips although it may have happened is undone when the order turns back. Its state is then no
-- longer `skipped`, and requests that refer to it must be the same as before: their keys have carried those bytes.

-- Its undo was planned while it was skipped. The rows of earlier programs keep the meaning that their requests had: done.
ALTER TABLE order_step ADD COLUMN was_skipped boolean NOT NULL DEFAULT false;
