/// A Postgres type, identified by its OID (src/include/catalog/pg_type.dat).
public struct PostgresType: Hashable, Sendable {
    @usableFromInline package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let bool = PostgresType(rawValue: 16)
    package static let bytea = PostgresType(rawValue: 17)
    package static let name = PostgresType(rawValue: 19)
    package static let int8 = PostgresType(rawValue: 20)
    package static let int2 = PostgresType(rawValue: 21)
    package static let int4 = PostgresType(rawValue: 23)
    package static let text = PostgresType(rawValue: 25)
    package static let tid = PostgresType(rawValue: 27)
    package static let json = PostgresType(rawValue: 114)
    package static let float4 = PostgresType(rawValue: 700)
    package static let float8 = PostgresType(rawValue: 701)
    package static let unknown = PostgresType(rawValue: 705)
    package static let bpchar = PostgresType(rawValue: 1042)
    package static let varchar = PostgresType(rawValue: 1043)
    package static let timestamptz = PostgresType(rawValue: 1184)
    package static let interval = PostgresType(rawValue: 1186)
    package static let record = PostgresType(rawValue: 2249)
    package static let jsonb = PostgresType(rawValue: 3802)

    private static let arrays: [PostgresType: UInt32] = [
        .bool: 1000, .bytea: 1001, .name: 1003, .int8: 1016, .int2: 1005, .int4: 1007, .text: 1009, .tid: 1010,
        .json: 199, .float4: 1021, .float8: 1022, .bpchar: 1014, .varchar: 1015, .timestamptz: 1185, .interval: 1187,
        .record: 2287, .jsonb: 3807,
    ]
    private static let arrayOIDs = Set(arrays.values)

    /// text[] for types that this driver does not know.
    package var array: PostgresType {
        PostgresType(rawValue: Self.arrays[self] ?? 1009)
    }

    /// Enums, domains and other types created after `initdb` (FirstNormalObjectId).
    var isUserDefined: Bool { rawValue >= 16384 }

    var isArray: Bool { Self.arrayOIDs.contains(rawValue) || isUserDefined }
}
