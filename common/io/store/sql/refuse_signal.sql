-- A signal that the order with its key refuses is for no other order, until its sender sends it once more.
-- In this folder: psql -f refuse_signal.sql, with the values below.
\set signal 'paid'
\set key 'ch_17'
\set signal_id 'evt_1'

UPDATE signal_by_key
SET taken_by = ''
WHERE signal = :'signal'::text AND key = :'key'::text AND signal_id = :'signal_id'::text AND taken_by IS NULL;
