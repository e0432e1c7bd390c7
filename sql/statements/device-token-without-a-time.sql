-- device token without a time, 1 of 10: the same as device token, 1 of 10

-- device token without a time, 2 of 10: the same as device token, 2 of 10

-- device token without a time, 3 of 10: the same as device token, 3 of 10

-- device token without a time, 4 of 10: the same as device token, 4 of 10

-- device token without a time, 5 of 10: the same as device token, 5 of 10

-- device token without a time, 6 of 10: the same as device token, 6 of 10

-- device token without a time, 7 of 10: the same as device token, 7 of 10

-- device token without a time, 8 of 10: the same as device token, 8 of 10

-- device token without a time, 9 of 10: the same as device token, 9 of 10

-- device token without a time, 10 of 10: the same as device token, 10 of 10
