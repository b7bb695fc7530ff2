-- The same as the end of a time.
(
    SELECT coalesce(
        (
            CASE WHEN :'until'::text = '' THEN NULL
                WHEN :'until'::text LIKE '-%' THEN clock_timestamp() + :'until'::text::bigint * interval '1 millisecond'
                ELSE ('epoch'::timestamptz + :'until'::text::bigint * interval '1 millisecond') END
        ),
        'infinity'
    )
)
