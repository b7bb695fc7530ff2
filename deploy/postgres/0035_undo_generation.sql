-- serves programs from schema 1
--
-- An undo that the service has refused for certain goes out under another key once an operator resumes its order. This number is
-- added to the step's generation for the key of the undo.

ALTER TABLE order_step ADD COLUMN undo_generation bigint NOT NULL DEFAULT 0;
