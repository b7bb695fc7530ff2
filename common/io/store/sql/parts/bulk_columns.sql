-- The columns of the reports of bulk actions.
b.bulk_id, b.verb, b.state, b.version, b.orders, b.waiting, b.asked, b.done, b.failed, b.skipped, b.is_tried, b.canary,
b.rate_per_s, b.stop_percent, makegood_json(b.filter) AS filter, b.by_whom, b.reason, b.why,
to_char(b.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
to_char(b.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ended_at
