-- serves programs from schema 1
--
-- How slow a service is, since when it fails, and its last answer; and how many orders are accepted and end. Agents and
-- schedulers report their counts since they began. The leading supervisor adds the difference to the minute.
--
-- Programs of schema 42 and below report nothing of it: NULL. Their rows show no numbers.

ALTER TABLE service_state ADD COLUMN calls json; -- the member `calls` of proto/service_report.schema.json
ALTER TABLE process_state ADD COLUMN orders bigint[]; -- of a scheduler: orders accepted, ended, failed

-- The counts that the supervisor has added already.
CREATE TABLE counted_process (
    subject  text COLLATE "C" NOT NULL, -- a service; '': the orders
    instance text COLLATE "C" NOT NULL, -- an agent; a scheduler
    process  bigint NOT NULL,           -- of an agent; another one of this name counts from 0
    counts   bigint[] NOT NULL,         -- as in minute_count, since the process began
    seen_at  timestamptz NOT NULL,
    PRIMARY KEY (subject, instance)
) WITH (fillfactor = 50);

-- The duration that this share of a service's calls did not exceed, in ms, from their numbers by duration; NULL: no call.
-- Within a bucket they count as spread evenly. The bounds are those of the agents' histograms (common/base/metrics.c).
CREATE FUNCTION makegood_call_ms(counts bigint[], share double precision) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN coalesce(counts[1], 0) > 0 THEN coalesce((
        SELECT ceil(b.above + (b.upto - b.above) * (share * counts[1] - b.before) / b.calls)
        FROM (
            SELECT n, calls, upto, coalesce(lag(upto) OVER (ORDER BY n), 0) AS above, sum(calls) OVER (ORDER BY n) - calls AS before
            FROM unnest(counts[3:17],
                ARRAY[1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000]::double precision[])
                WITH ORDINALITY AS u (calls, upto, n)
        ) b
        WHERE b.calls > 0 AND b.before + b.calls >= share * counts[1]
        ORDER BY b.n
        LIMIT 1
    ), 60000)::bigint END
$$;

-- The last hour: at most 61 rows of a subject.
CREATE TABLE minute_count (
    subject text COLLATE "C" NOT NULL,
    minute  timestamptz NOT NULL,
    -- A service has calls, failed ones, and in 15 places the calls by their duration; the orders have accepted, ended, failed.
    counts  bigint[] NOT NULL,
    p95_ms  bigint GENERATED ALWAYS AS (CASE WHEN subject <> '' THEN makegood_call_ms(counts, 0.95) END) STORED,
    PRIMARY KEY (subject, minute)
) WITH (fillfactor = 50);
