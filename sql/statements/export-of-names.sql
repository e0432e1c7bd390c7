-- export of names, 1: $1 bigint, $2 bytea, $3 bigint
SELECT r.installation_hash, r.removed_at, r.subject, r.subject_observed_at, r.aliases, r.aliases_observed_at, r.metadata, r.metadata_observed_at
FROM installations r WHERE r.scope_id = $1 AND r.installation_hash > $2
ORDER BY r.installation_hash LIMIT $3;

-- export of names, 2: $1 bigint, $2 text, $3 text, $4 bigint
SELECT r.alias, r.owner, r.ended_at FROM alias_identities r
WHERE r.scope_id = $1 AND (r.alias, r.owner) > ($2, $3)
ORDER BY r.alias, r.owner LIMIT $4;
