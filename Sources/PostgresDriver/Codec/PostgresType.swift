/// A Postgres type, identified by OID.
public struct PostgresType: RawRepresentable, Hashable, Sendable {
    /// The OID in `pg_type`.
    public let rawValue: UInt32

    /// Makes a type from its OID.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    // OIDs from src/include/catalog/pg_type.dat.

    /// `boolean`
    public static let bool = PostgresType(rawValue: 16)
    /// `bytea`
    public static let bytea = PostgresType(rawValue: 17)
    /// `name`
    public static let name = PostgresType(rawValue: 19)
    /// `bigint`
    public static let int8 = PostgresType(rawValue: 20)
    /// `smallint`
    public static let int2 = PostgresType(rawValue: 21)
    /// `integer`
    public static let int4 = PostgresType(rawValue: 23)
    /// `text`
    public static let text = PostgresType(rawValue: 25)
    /// `tid`
    public static let tid = PostgresType(rawValue: 27)
    /// `json`
    public static let json = PostgresType(rawValue: 114)
    /// `real`
    public static let float4 = PostgresType(rawValue: 700)
    /// `double precision`
    public static let float8 = PostgresType(rawValue: 701)
    /// `unknown`
    public static let unknown = PostgresType(rawValue: 705)
    /// `character(n)`
    public static let bpchar = PostgresType(rawValue: 1042)
    /// `character varying`
    public static let varchar = PostgresType(rawValue: 1043)
    /// `timestamp with time zone`
    public static let timestamptz = PostgresType(rawValue: 1184)
    /// `interval`
    public static let interval = PostgresType(rawValue: 1186)
    /// `record`
    public static let record = PostgresType(rawValue: 2249)
    /// `record[]`
    public static let recordArray = PostgresType(rawValue: 2287)
    /// `jsonb`
    public static let jsonb = PostgresType(rawValue: 3802)

    private static let arrays: [PostgresType: UInt32] = [
        .bool: 1000, .bytea: 1001, .name: 1003, .int8: 1016, .int2: 1005, .int4: 1007, .text: 1009, .tid: 1010,
        .json: 199, .float4: 1021, .float8: 1022, .bpchar: 1014, .varchar: 1015, .timestamptz: 1185, .interval: 1187,
        .jsonb: 3807,
    ]
    private static let arrayOIDs = Set(arrays.values)

    /// text[] for types that this driver does not know.
    public var array: PostgresType {
        PostgresType(rawValue: Self.arrays[self] ?? 1009)
    }

    /// Enums, domains and other types created after `initdb` (FirstNormalObjectId).
    var isUserDefined: Bool { rawValue >= 16384 }

    var isArray: Bool { Self.arrayOIDs.contains(rawValue) || isUserDefined }
}
