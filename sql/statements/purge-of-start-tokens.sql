-- purge of start tokens, 1 of 4: the same as purge of device tokens, 1 of 4

-- purge of start tokens, 2 of 4: the same as purge of device tokens, 2 of 4

-- purge of start tokens, 3 of 4: the same as purge of device tokens, 3 of 4

-- purge of start tokens, 4 of 4: the same as purge of device tokens, 4 of 4
