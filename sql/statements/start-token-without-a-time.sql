-- start token without a time, 1 of 7: the same as device token, 1 of 10

-- start token without a time, 2 of 7: the same as start token, 2 of 7

-- start token without a time, 3 of 7: the same as device token, 4 of 10

-- start token without a time, 4 of 7: the same as device token, 5 of 10

-- start token without a time, 5 of 7: the same as start token, 5 of 7

-- start token without a time, 6 of 7: the same as device token, 7 of 10

-- start token without a time, 7 of 7: the same as start token, 7 of 7
