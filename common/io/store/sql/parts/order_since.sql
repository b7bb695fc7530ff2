-- Since when each step of an order is as it is, and the order itself (step NULL), from its newest 1,000 events. changed_at is the
-- moment of the newest change. since is that of the first change with the present reason, which attempts in between do not end:
-- a doubt begins with its answer, and an outage with its first failure. order_since is changed_at of the order, in each row.
(
    SELECT q.step, min(q.at) FILTER (WHERE q.age = 1) AS changed_at,
        coalesce(min(q.at) FILTER (WHERE q.reason = q.present AND q.age < coalesce(q.other, q.age + 1)),
            min(q.at) FILTER (WHERE q.age = 1)) AS since,
        max(min(q.at) FILTER (WHERE q.step IS NULL AND q.age = 1)) OVER () AS order_since
    FROM (
        SELECT p.*, min(p.age) FILTER (WHERE p.reason <> p.present) OVER (PARTITION BY p.step) AS other
        FROM (
            SELECT c.*, first_value(c.reason) OVER (PARTITION BY c.step ORDER BY c.reason IS NULL, c.age) AS present
            FROM (
                SELECT t.change->>'step' AS step, nullif(t.change->>'reason', 'none') AS reason, e.at,
                    row_number() OVER (PARTITION BY t.change->>'step' ORDER BY e.version DESC, t.n DESC) AS age
                FROM (
                    SELECT version, at, transitions
                    FROM order_event
                    WHERE order_id = :'order_id'::text
                    ORDER BY version DESC
                    LIMIT 1000
                ) e, json_array_elements(e.transitions) WITH ORDINALITY AS t (change, n)
            ) c
        ) p
    ) q
    GROUP BY q.step
)
