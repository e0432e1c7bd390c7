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

extension AliasSet {
    package static func read(_ json: inout JSONReader) -> AliasSet? {
        let kinds = json.object.filter { !$0.value.isNull }.map(\.key)
        let aliases = kinds.flatMap { read(kind: $0, &json) }
        do throws(JSONFaultReason) {
            return try AliasSet(aliases)
        } catch {
            json.fault(nil, error.detail)
            return nil
        }
    }

    private static func read(kind name: String, _ json: inout JSONReader) -> [Alias] {
        do throws(JSONFaultReason) {
            let kind = try Alias.kind(name)
            return json.oneOrMore(name) { value throws(JSONFaultReason) in
                try Alias(checkedKind: kind, value: Alias.value(String.read(value)))
            } ?? []
        } catch {
            json.fault(name, error.detail)
            return []
        }
    }
}
