-- export of start tokens, 1 of 2: the same as export of device tokens, 1 of 2

-- export of start tokens, 2 of 2: the same as export of device tokens, 2 of 2
