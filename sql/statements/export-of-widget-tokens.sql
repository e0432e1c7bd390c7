-- export of widget tokens, 1: the same as export of device tokens, 1

-- export of widget tokens, 2: the same as export of device tokens, 2
