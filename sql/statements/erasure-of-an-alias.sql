-- erasure of an alias, 1 of 16: the same as erasure of a Live Activity, 1 of 18

-- erasure of an alias, 2 of 16: the same as erasure of a Live Activity, 2 of 18

-- erasure of an alias, 3 of 16: the same as erasure of a Live Activity, 3 of 18

-- erasure of an alias, 4 of 16: the same as erasure of a Live Activity, 4 of 18

-- erasure of an alias, 5 of 16: the same as erasure of a Live Activity, 5 of 18

-- erasure of an alias, 6 of 16: the same as erasure of a Live Activity, 6 of 18

-- erasure of an alias, 7 of 16: the same as erasure of a Live Activity, 7 of 18

-- erasure of an alias, 8 of 16: the same as erasure of a Live Activity, 8 of 18

-- erasure of an alias, 9 of 16: the same as erasure of a Live Activity, 9 of 18

-- erasure of an alias, 10 of 16: the same as erasure of a Live Activity, 10 of 18

-- erasure of an alias, 11 of 16: the same as erasure of a Live Activity, 11 of 18

-- erasure of an alias, 12 of 16: the same as erasure of a Live Activity, 12 of 18

-- erasure of an alias, 13 of 16: the same as erasure of a Live Activity, 13 of 18

-- erasure of an alias, 14 of 16: the same as erasure of a Live Activity, 14 of 18

-- erasure of an alias, 15 of 16: the same as erasure of a Live Activity, 15 of 18

-- erasure of an alias, 16 of 16: the same as erasure of a Live Activity, 18 of 18
