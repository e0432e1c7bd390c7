-- purge of start tokens, 1: the same as purge of device tokens, 1

-- purge of start tokens, 2: the same as purge of device tokens, 2

-- purge of start tokens, 3: the same as purge of device tokens, 3

-- purge of start tokens, 4: the same as purge of device tokens, 4
