-- stale widget tokens, 1: the same as stale device tokens, 1

-- stale widget tokens, 2: the same as stale device tokens, 2

-- stale widget tokens, 3: the same as stale device tokens, 3
