-- erasure of an alias, 1 of 17: the same as erasure of a Live Activity, 1 of 19

-- erasure of an alias, 2 of 17: the same as erasure of a Live Activity, 2 of 19

-- erasure of an alias, 3 of 17: the same as erasure of a Live Activity, 3 of 19

-- erasure of an alias, 4 of 17: the same as erasure of a Live Activity, 4 of 19

-- erasure of an alias, 5 of 17: the same as erasure of a Live Activity, 5 of 19

-- erasure of an alias, 6 of 17: the same as erasure of a Live Activity, 6 of 19

-- erasure of an alias, 7 of 17: the same as erasure of a Live Activity, 7 of 19

-- erasure of an alias, 8 of 17: the same as erasure of a Live Activity, 8 of 19

-- erasure of an alias, 9 of 17: the same as erasure of a Live Activity, 9 of 19

-- erasure of an alias, 10 of 17: the same as erasure of a Live Activity, 10 of 19

-- erasure of an alias, 11 of 17: the same as erasure of a Live Activity, 11 of 19

-- erasure of an alias, 12 of 17: the same as erasure of a Live Activity, 12 of 19

-- erasure of an alias, 13 of 17: the same as erasure of a Live Activity, 13 of 19

-- erasure of an alias, 14 of 17: the same as erasure of a Live Activity, 14 of 19

-- erasure of an alias, 15 of 17: the same as erasure of a Live Activity, 15 of 19

-- erasure of an alias, 16 of 17: the same as erasure of a Live Activity, 16 of 19

-- erasure of an alias, 17 of 17: the same as erasure of a Live Activity, 19 of 19
