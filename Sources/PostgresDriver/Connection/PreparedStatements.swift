/// The statements that the server has prepared. If they are too many, because texts vary, all are deallocated.
struct PreparedStatements {
    /// To the server, a text with other parameter types is another statement.
    struct Key: Hashable {
        let text: String
        /// Empty if the server infers the types.
        let types: [UInt32]
        /// Retained, so that its address is not reused by another identity.
        private let identity: SQL.Identity?

        init(_ sql: SQL) {
            identity = sql.identity
            text = sql.text
            types = sql.identity == nil ? sql.parameters.map(\.type.rawValue) : []
        }

        static func == (left: Key, right: Key) -> Bool {
            guard left.identity == nil, right.identity == nil else { return left.identity === right.identity }
            return left.text == right.text && left.types == right.types
        }

        func hash(into hasher: inout Hasher) {
            if let identity {
                hasher.combine(ObjectIdentifier(identity))
            } else {
                hasher.combine(text)
                hasher.combine(types)
            }
        }
    }

    private static let capacity = 256
    private(set) var names: [Key: String] = [:]
    private var count: UInt64 = 0

    var isFull: Bool { names.count > Self.capacity }

    mutating func newName() -> String {
        count += 1
        return "s\(count)"
    }

    mutating func insert(_ key: Key, name: String) { names[key] = name }

    mutating func remove(_ key: Key) { names[key] = nil }
}
