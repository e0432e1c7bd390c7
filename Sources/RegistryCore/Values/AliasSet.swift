/// The aliases of one activity, in JSON `{"kind": "value" | ["value", …]}`.
package struct AliasSet: Sendable, Hashable {
    package let aliases: [Alias]
    package static let maximumCount = 16

    package init(_ aliases: some Sequence<Alias>) throws(JSONFaultReason) {
        let sorted = Set(aliases).sorted()
        guard sorted.count <= Self.maximumCount else {
            throw JSONFaultReason("must hold at most \(Self.maximumCount) aliases")
        }
        self.aliases = sorted
    }

    /// Skips the checks.
    package init(stored aliases: [Alias]) {
        let isSorted = zip(aliases, aliases.dropFirst()).allSatisfy { $0 < $1 }
        self.aliases = isSorted ? aliases : Set(aliases).sorted()
    }

    /// `{"kind":["value",…],…}` in byte order. This form is stored, and it breaks ties.
    package var canonicalJSON: [UInt8] {
        var json = JSONWriter(reservingCapacity: 2 + 64 * aliases.count)
        json.object { json in
            var rest = aliases[...]
            while let kind = rest.first?.kind {
                json.array(kind.string) { json in
                    while let alias = rest.first, alias.kind == kind {
                        json.string(alias.value.string)
                        rest.removeFirst()
                    }
                }
            }
        }
        return json.bytes
    }
}
