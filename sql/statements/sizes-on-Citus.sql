-- sizes on Citus, 1: $1 text[], $2 text, $3 text[], $4 bigint
SELECT q.name, coalesce(sum((answer.result::jsonb ->> q.name)::float8) FILTER (WHERE answer.success), 0)
FROM unnest($1) WITH ORDINALITY AS q (name, position)
CROSS JOIN run_command_on_workers((
    SELECT format($2, current_schema(), $3::text, $4::bigint)
)) AS answer
GROUP BY q.name, q.position ORDER BY q.position;

-- sizes on Citus, 2: $1 text, $2 text, $3 bigint
SELECT coalesce(sum(answer.result::int8) FILTER (WHERE answer.success), 0)::int8, bool_and(answer.success)
FROM run_command_on_workers((SELECT format($1, current_schema(), $2, $3::bigint))) AS answer;
