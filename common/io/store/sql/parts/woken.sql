-- The wake_at of a woken order: before all others. Every writer of the order keeps it.
('epoch'::timestamptz + 1 * interval '1 millisecond')
