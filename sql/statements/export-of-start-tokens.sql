-- export of start tokens, 1: the same as export of device tokens, 1

-- export of start tokens, 2: the same as export of device tokens, 2
