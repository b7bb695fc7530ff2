-- A moment that passes in a pause is no next one: it never comes.
s.name AS schedule, s.workflow, s.zone, s.is_paused,
    to_char(s.next_slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS next_slot,
    CASE WHEN NOT s.is_paused OR s.next_at > clock_timestamp()
        THEN to_char(s.next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END AS next_at,
    CASE WHEN NOT s.is_paused OR s.next_at > clock_timestamp()
        THEN to_char(s.next_slot AT TIME ZONE s.zone, 'YYYY-MM-DD HH24:MI:SS') END AS next_local,
    array_to_json(ARRAY(
        SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM unnest(s.upcoming) AS t
        WHERE NOT s.is_paused OR t > clock_timestamp()
        ORDER BY t
    )) AS upcoming, r.what AS last_end, to_char(r.slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_slot,
    r.order_id AS last_order, s.skipped, s.version, s.by_whom, s.reason,
    to_char(s.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS changed_at
