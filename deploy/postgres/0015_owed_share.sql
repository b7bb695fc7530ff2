-- serves programs from schema 1
--
-- Whose queue it is that takes no statuses: each client has a share of the retries, so that the many queues of one
-- client that are gone do not hold up another's. Queues that are no client's of its own share as one.

-- The table is rewritten: it has one row for each queue that takes nothing, and no row for an order.
ALTER TABLE reply_queue
    ADD COLUMN client text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (CASE WHEN starts_with(name, 'client.') THEN split_part(name, '.', 2) ELSE '' END) STORED;

-- The next client, and the oldest of its queues, without a look at the others.
CREATE INDEX reply_queue_client ON reply_queue (client, ask_at, name);
