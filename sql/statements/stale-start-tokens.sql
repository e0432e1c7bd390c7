-- stale start tokens, 1: the same as stale device tokens, 1

-- stale start tokens, 2: the same as stale device tokens, 2

-- stale start tokens, 3: the same as stale device tokens, 3
