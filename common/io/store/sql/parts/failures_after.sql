-- After one alert.
f.opened_at <= (
    SELECT coalesce(
        (SELECT b.opened_at FROM operator_alert b WHERE b.alert_id = nullif(:'after'::text, '')::bigint), 'infinity'
    )
)
    AND (
        :'after'::text = ''
        OR f.opened_at < (SELECT b.opened_at FROM operator_alert b WHERE b.alert_id = nullif(:'after'::text, '')::bigint)
        OR f.alert_id < (SELECT b.alert_id FROM operator_alert b WHERE b.alert_id = nullif(:'after'::text, '')::bigint)
    )
