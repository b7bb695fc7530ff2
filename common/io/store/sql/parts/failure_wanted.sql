-- Whether a failure is wanted. '' is any; '-' as a step or service: those without one. An error is a whole code, the
-- class of codes (http_422 of http_422/SOLD_OUT), or a service's own code (SOLD_OUT). Services are names separated by
-- blanks. Labels are JSON, an object of texts, which must all match. Few orders have the labels: by the rarest of
-- these most are passed by without a look at their labels.
(:'workflow'::text = '' OR f.workflow = :'workflow'::text)
    AND (:'step'::text = '' OR coalesce(nullif(f.step, ''), '-') = :'step'::text)
    AND (
        :'error'::text = '' OR f.error = :'error'::text OR starts_with(f.error, :'error'::text || '/')
        OR right(f.error, length(:'error'::text) + 1) = '/' || :'error'::text
    )
    AND (:'services'::text = '' OR coalesce(nullif(f.service, ''), '-') = ANY (string_to_array(:'services'::text, ' ')))
    AND (
        CASE WHEN :'labels'::text = '' THEN true
            WHEN (SELECT r.orders FROM :rarest r) < 10000
                AND f.order_id NOT IN (
                    SELECT l.order_id
                    FROM :rarest r
                    CROSS JOIN LATERAL (
                        SELECT l.order_id FROM order_label l WHERE l.value = r.value AND l.name = r.name LIMIT 10000
                    ) l
                ) THEN false
            ELSE (
                :'labels'::text = ''
                OR NOT EXISTS (
                    SELECT
                    FROM json_each_text(nullif(:'labels'::text, '')::json) w
                    WHERE NOT EXISTS (
                        SELECT FROM order_label l WHERE l.order_id = f.order_id AND l.name = w.key AND l.value = w.value
                    )
                )
            ) END
    )
