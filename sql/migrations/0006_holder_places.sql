-- Where the row of an activity stands: feedback has locked it and judges it, and then writes to it there, for to look up a
-- row in a large table costs more than to write it. All else is as it was.
CREATE OR REPLACE VIEW token_holders AS
SELECT t.app_number, t.environment, t.token_digest, h.kind, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases, h.place
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases, a.ctid AS place
    FROM activities a
    WHERE a.app_number = t.app_number AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
    UNION ALL
    SELECT d.kind, d.claimed_at, NULL::text COLLATE "C", d.installation_hash, NULL::text, NULL::jsonb, NULL::tid
    FROM device_tokens d
    LEFT JOIN installations i ON i.app_number = d.app_number AND i.environment = d.environment
        AND i.installation_hash = d.installation_hash
    WHERE d.app_number = t.app_number AND d.environment = t.environment
        AND d.installation_hash = t.installation_hash AND d.kind = t.installation_kind AND d.token_digest = t.token_digest
        AND d.observed_at > greatest(d.deleted_at, i.removed_at, '-infinity')
) AS h
UNION ALL
SELECT
    s.app_number, s.environment, s.token_digest, 'start'::text COLLATE "C", s.claimed_at, NULL::text COLLATE "C",
    s.installation_hash, NULL::text, NULL::jsonb, NULL::tid
FROM start_tokens s
LEFT JOIN token_values t
    ON t.app_number = s.app_number AND t.environment = s.environment AND t.token_digest = s.token_digest
LEFT JOIN installations i
    ON i.app_number = s.app_number AND i.environment = s.environment AND i.installation_hash = s.installation_hash
WHERE s.observed_at > greatest(s.deleted_at, i.removed_at, '-infinity') AND t.installation_hash IS NULL;
