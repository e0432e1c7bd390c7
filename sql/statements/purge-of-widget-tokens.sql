-- purge of widget tokens, 1: the same as purge of device tokens, 1

-- purge of widget tokens, 2: the same as purge of device tokens, 2

-- purge of widget tokens, 3: the same as purge of device tokens, 3

-- purge of widget tokens, 4: the same as purge of device tokens, 4
