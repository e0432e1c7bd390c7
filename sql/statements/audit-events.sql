-- audit events, 1: $1 bigint, $2 bigint, $3 bigint
SELECT min(s.event_number), count(*), max(s.recorded_at) FROM (
    SELECT e.event_number, e.recorded_at FROM events e
    WHERE e.scope_id = $1 AND e.event_number < $2
    ORDER BY e.event_number DESC LIMIT $3
) AS s;

-- audit events, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint
SELECT e.event_number, e.recorded_at, e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, e.token_fingerprint, e.lease_id FROM events e
WHERE e.scope_id = $1 AND e.event_number >= $2 AND e.event_number < $3
ORDER BY e.event_number DESC LIMIT $4;

-- audit events, 3: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint
SELECT e.event_number, e.recorded_at, e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, e.token_fingerprint, e.lease_id FROM events e
WHERE e.scope_id = $1 AND e.activity_id = $2 AND hashtextextended(e.activity_id, 0) >= hashtextextended($3, 0)
    AND (hashtextextended(e.activity_id, 0), e.event_number) < (hashtextextended($4, 0), $5)
ORDER BY hashtextextended(e.activity_id, 0) DESC, e.event_number DESC LIMIT $6;

-- audit events, 4: $1 bigint, $2 timestamp with time zone, $3 timestamp with time zone
SELECT min(e.event_number) FROM events e
WHERE e.scope_id = $1 AND e.recorded_at > $2 + interval '1 hour'
    AND e.recorded_at < $3 + interval '2 hours';
