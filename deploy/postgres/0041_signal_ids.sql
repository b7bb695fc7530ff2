-- serves programs from schema 1
--
-- The id of a signal with a key is one of its key's alone: a sender may number the signals of each key from 1.

ALTER TABLE signal_by_key DROP CONSTRAINT signal_by_key_pkey, ADD PRIMARY KEY (signal, key, signal_id);
