/// A batch of aliases to resolve. A malformed alias gets a problem in its position.
package struct ResolveBody: Sendable, Hashable {
    package let aliases: [Result<Alias, Problem>]
    package let limitPerAlias: Int
    package static let maximumAliases = 1000
    /// Activities per page, or per alias of a batch.
    package static let limits = 1...1000
    package static let defaultLimit = 100

    package static func read(_ json: inout JSONReader) -> ResolveBody? {
        let elements = json.elements("aliases", maximumCount: maximumAliases)
        let limit = json.optional("limitPerAlias", Int.within(limits)) ?? defaultLimit
        guard let elements else { return nil }
        let aliases = elements.map { element in
            var json = element
            let alias = Alias.read(&json)
            return alias.map { .success($0) } ?? Result<Alias, Problem>.failure(Problem(faults: json.faults))
        }
        return ResolveBody(aliases: aliases, limitPerAlias: limit)
    }
}
