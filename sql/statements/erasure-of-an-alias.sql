-- erasure of an alias, 1: the same as erasure of a Live Activity, 1

-- erasure of an alias, 2: the same as erasure of a Live Activity, 2

-- erasure of an alias, 3: the same as erasure of a Live Activity, 3

-- erasure of an alias, 4: the same as erasure of a Live Activity, 4

-- erasure of an alias, 5: the same as erasure of a Live Activity, 5

-- erasure of an alias, 6: the same as erasure of a Live Activity, 4

-- erasure of an alias, 7: the same as erasure of a Live Activity, 7

-- erasure of an alias, 8: the same as erasure of a Live Activity, 8

-- erasure of an alias, 9: the same as erasure of a Live Activity, 10

-- erasure of an alias, 10: the same as erasure of a Live Activity, 11

-- erasure of an alias, 11: the same as erasure of a Live Activity, 12

-- erasure of an alias, 12: the same as erasure of a Live Activity, 13

-- erasure of an alias, 13: the same as erasure of a Live Activity, 14

-- erasure of an alias, 14: the same as erasure of a Live Activity, 15

-- erasure of an alias, 15: the same as erasure of a Live Activity, 16
