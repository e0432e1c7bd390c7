/// A batch of aliases to resolve, each as it was given or with what was wrong with it.
package struct ResolveBody: Sendable, Hashable {
    /// In the order asked.
    package let aliases: [Result<Alias, Problem>]
    /// The most activities for each alias.
    package let limitPerAlias: Int

    /// The most aliases that one body may ask for.
    package static let maximumAliases = 1000
    /// How many activities a page or an alias of a batch may have.
    package static let limits = 1...1000
    /// How many it has when nothing is said.
    package static let defaultLimit = 100

    /// Reads `{aliases: [{kind, value}], limitPerAlias}`; nil and faults in the reader when the envelope is wrong.
    ///
    /// A malformed alias is no fault of the body: it gets a problem in its place.
    package static func read(_ json: inout JSONReader) -> ResolveBody? {
        let elements = json.elements("aliases", maximumCount: maximumAliases)
        let limit = json.optionalInteger("limitPerAlias", in: limits) ?? defaultLimit
        guard let elements else { return nil }
        let aliases = elements.map { element in
            var json = element
            let alias = Alias.read(&json)
            return alias.map { .success($0) } ?? Result<Alias, Problem>.failure(Problem(faults: json.faults))
        }
        return ResolveBody(aliases: aliases, limitPerAlias: limit)
    }
}
