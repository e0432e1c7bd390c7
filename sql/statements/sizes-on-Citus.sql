-- sizes on Citus, 1: $1 text, $2 text, $3 bigint
SELECT coalesce(sum(answer.result::float8) FILTER (WHERE answer.success), 0)
FROM run_command_on_workers((SELECT format($1, current_schema(), $2, $3::bigint))) AS answer;

-- sizes on Citus, 2: $1 text, $2 text, $3 bigint
SELECT coalesce(sum(answer.result::int8) FILTER (WHERE answer.success), 0)::int8, bool_and(answer.success)
FROM run_command_on_workers((SELECT format($1, current_schema(), $2, $3::bigint))) AS answer;
