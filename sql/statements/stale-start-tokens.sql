-- stale start tokens, 1 of 3: the same as stale device tokens, 1 of 3

-- stale start tokens, 2 of 3: the same as stale device tokens, 2 of 3

-- stale start tokens, 3 of 3: the same as stale device tokens, 3 of 3
