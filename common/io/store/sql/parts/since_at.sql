-- A moment from a person as the begin of a time, in milliseconds: since 1970, or, below 0, before now; '': none. It
-- is a subquery, computed once, so an index can be walked from it.
(
    SELECT coalesce(
        (
            CASE WHEN :'since'::text = '' THEN NULL
                WHEN :'since'::text LIKE '-%' THEN clock_timestamp() + :'since'::text::bigint * interval '1 millisecond'
                ELSE ('epoch'::timestamptz + :'since'::text::bigint * interval '1 millisecond') END
        ),
        '-infinity'
    )
)
