/// Evicts the least recently used statement.
struct PreparedStatements {
    /// To the server, a text with other parameter types is another statement.
    struct Key: Hashable {
        let text: String
        let types: [UInt32]
        /// Retained, so that its address is not reused by another identity.
        private let identity: SQL.Identity?

        init(_ sql: SQL) {
            identity = sql.identity
            text = sql.text
            types = sql.identity?.types ?? sql.parameters.map(\.type.rawValue)
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

    private struct Entry {
        let name: String
        var lastUse: UInt64
    }

    private let capacity: Int
    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0
    /// Evicted statements that the server still holds.
    private(set) var leftOver: [String] = []

    init(capacity: Int = 256) {
        self.capacity = capacity
    }

    var count: Int { entries.count }

    mutating func name(for key: Key) -> String? {
        uses += 1
        entries[key]?.lastUse = uses
        return entries[key]?.name
    }

    mutating func newName() -> String {
        names += 1
        return "s\(names)"
    }

    mutating func insert(_ key: Key, name: String) {
        uses += 1
        entries[key] = Entry(name: name, lastUse: uses)
    }

    mutating func trim() {
        let surplus = entries.count - capacity
        guard surplus > 0 else { return }
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }).prefix(surplus) {
            leftOver.append(entry.name)
            entries[key] = nil
        }
    }

    mutating func clearLeftOver() {
        leftOver.removeAll()
    }
}
