-- start token without a time, 1: the same as device token, 1

-- start token without a time, 2: the same as start token, 2

-- start token without a time, 3: the same as start token, 3

-- start token without a time, 4: the same as device token, 5

-- start token without a time, 5: the same as start token, 5
