-- Aliases, and those that a change took away. A function, for a statement that calls it makes ready for it only where it does: most
-- changes take none away.
CREATE FUNCTION all_aliases(aliases jsonb, displaced_aliases jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(alias_kinds.kind, alias_kinds.alias_values) FROM (
        SELECT kinds.key AS kind, jsonb_agg(DISTINCT alias_values.value) AS alias_values
        FROM (VALUES (aliases), (displaced_aliases)) AS sets (aliases)
        CROSS JOIN LATERAL jsonb_each(sets.aliases) AS kinds
        CROSS JOIN LATERAL jsonb_array_elements(kinds.value) AS alias_values
        GROUP BY kinds.key
    ) AS alias_kinds
$$;
