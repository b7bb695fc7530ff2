-- serves programs from schema 1
--
-- Orders that turned back or need an operator are found newest first, however many others there are.
--
-- The core gives such an order a reason, and an order that goes as planned has none: it has no entry, and none of its
-- changes touches the index. So the condition names the reason and not the state, which each order changes: an update of
-- the state would then be written to every index of the table. Where orders are many the index is made before, without
-- holding up new ones: deploy/docs/operate.md, Upgrade.
CREATE INDEX IF NOT EXISTS order_process_reason ON order_process (created_at, order_id) WHERE reason <> 'none';
