/// A Postgres type, by its object identifier.
package struct PostgresType: RawRepresentable, Hashable, Sendable {
    /// The OID in `pg_type`.
    package let rawValue: UInt32

    /// Makes a type from its OID.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    // The numbers are those of src/include/catalog/pg_type.dat.

    /// `boolean`
    package static let bool = PostgresType(rawValue: 16)
    /// `bytea`
    package static let bytea = PostgresType(rawValue: 17)
    /// `name`
    package static let name = PostgresType(rawValue: 19)
    /// `bigint`
    package static let int8 = PostgresType(rawValue: 20)
    /// `smallint`
    package static let int2 = PostgresType(rawValue: 21)
    /// `integer`
    package static let int4 = PostgresType(rawValue: 23)
    /// `text`
    package static let text = PostgresType(rawValue: 25)
    /// `json`
    package static let json = PostgresType(rawValue: 114)
    /// `real`
    package static let float4 = PostgresType(rawValue: 700)
    /// `double precision`
    package static let float8 = PostgresType(rawValue: 701)
    /// `unknown`
    package static let unknown = PostgresType(rawValue: 705)
    /// `character(n)`
    package static let bpchar = PostgresType(rawValue: 1042)
    /// `character varying`
    package static let varchar = PostgresType(rawValue: 1043)
    /// `timestamp with time zone`
    package static let timestamptz = PostgresType(rawValue: 1184)
    /// `interval`
    package static let interval = PostgresType(rawValue: 1186)
    /// `jsonb`
    package static let jsonb = PostgresType(rawValue: 3802)

    private static let arrays: [PostgresType: UInt32] = [
        .bool: 1000, .bytea: 1001, .name: 1003, .int8: 1016, .int2: 1005, .int4: 1007, .text: 1009, .json: 199,
        .float4: 1021, .float8: 1022, .bpchar: 1014, .varchar: 1015, .timestamptz: 1185, .interval: 1187,
        .jsonb: 3807,
    ]
    private static let arrayOIDs = Set(arrays.values)

    /// The built-in array type of this element type; text[] for types that this driver does not know.
    package var array: PostgresType {
        PostgresType(rawValue: Self.arrays[self] ?? 1009)
    }

    /// Enums, domains and other types that were created after `initdb`: FirstNormalObjectId is 16384.
    var isUserDefined: Bool { rawValue >= 16384 }

    var isArray: Bool { Self.arrayOIDs.contains(rawValue) || isUserDefined }
}
