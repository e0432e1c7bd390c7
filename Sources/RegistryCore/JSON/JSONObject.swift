/// A JSON object. Members have unique keys, in the order in which each key first appeared.
///
/// The last value of a repeated key wins. Equality and hashing ignore the order of members.
package struct JSONObject: Sendable, RandomAccessCollection, Hashable, JSONObjectEncodable {
    package typealias Member = (key: String, value: JSONValue)

    private(set) var members: [Member] = []
    /// Positions by key, only for objects so large that scans would make many lookups quadratic.
    private var positions: [UTF8Text: Int] = [:]

    private static let scannedCount = 12
    /// Capacity for most objects, so that they grow without reallocation.
    private static let usualCount = 4
    package init() {}

    package init(_ members: some Sequence<(String, JSONValue)>) {
        self.members.reserveCapacity(members.underestimatedCount)
        for (key, value) in members { self[key] = value }
    }

    /// Setting nil removes the member in linear time.
    package subscript(key: String) -> JSONValue? {
        get { position(of: key).map { members[$0].value } }
        set {
            switch (position(of: key), newValue) {
            case (let position?, let value?): members[position].value = value
            case (nil, let value?): append((key, value))
            case (let position?, nil):
                members.remove(at: position)
                positions = [:]
                if members.count > Self.scannedCount { indexMembers() }
            case (nil, nil): break
            }
        }
    }

    package var keys: [String] { members.map(\.key) }
    var sortedMembers: [Member] { members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) } }

    private func position(of key: String) -> Int? {
        guard positions.isEmpty else { return positions[UTF8Text(key)] }
        return members.firstIndex { UTF8Text($0.key) == UTF8Text(key) }
    }

    private mutating func append(_ member: Member) {
        if members.isEmpty { members.reserveCapacity(Self.usualCount) }
        members.append(member)
        if !positions.isEmpty {
            positions[UTF8Text(member.key)] = members.count - 1
        } else if members.count > Self.scannedCount {
            indexMembers()
        }
    }

    private mutating func indexMembers() {
        for (position, member) in members.enumerated() { positions[UTF8Text(member.key)] = position }
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { members.count }
    package subscript(position: Int) -> Member { members[position] }

    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.key] == $0.value }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for member in sortedMembers {
            hasher.combine(UTF8Text(member.key))
            hasher.combine(member.value)
        }
    }

    package func writeMembers(to json: inout JSONWriter) {
        for member in self { json.member(member.key, member.value) }
    }
}
