-- device token without a time, 1: the same as device token, 1

-- device token without a time, 2: the same as device token, 2

-- device token without a time, 3: the same as device token, 3

-- device token without a time, 4: the same as device token, 4

-- device token without a time, 5: the same as device token, 5

-- device token without a time, 6: the same as device token, 6

-- device token without a time, 7: the same as device token, 7
