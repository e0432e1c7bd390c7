import PostgresDriver
import RegistryCore

/// The statements of the first pages of aliases, from templates.
enum ResolveTemplates {
    private static let one = templates { alias, scope in
        [
            ResolveStatements.page(of: alias, after: 0, limit: sampleLimit, in: scope),
            ChannelStatements.channels(of: [alias], in: scope),
        ]
    }

    private static let many = templates { alias, scope in
        [
            ResolveStatements.resolve([alias], limitPerAlias: sampleLimit, in: scope),
            ChannelStatements.channels(of: [alias], in: scope),
        ]
    }

    private static let sampleLimit = 1_000_007

    /// The first page of an alias, and its channels.
    static func firstPage(of alias: Alias, limit: Int, in scope: Scope) -> [SQL] {
        one?.map { $0.bind(values([alias], limit: limit, scope)) } ?? [
            ResolveStatements.page(of: alias, after: 0, limit: limit, in: scope),
            ChannelStatements.channels(of: [alias], in: scope),
        ]
    }

    /// The first pages of many aliases, and their channels.
    static func firstPages(of aliases: [Alias], limit: Int, in scope: Scope) -> [SQL] {
        many?.map { $0.bind(values(aliases, limit: limit, scope)) } ?? [
            ResolveStatements.resolve(aliases, limitPerAlias: limit, in: scope),
            ChannelStatements.channels(of: aliases, in: scope),
        ]
    }

    private static func values(_ aliases: [Alias], limit: Int, _ scope: Scope) -> [PostgresParameter] {
        [
            PostgresParameter(aliases[0].kind), PostgresParameter(aliases[0].value),
            PostgresParameter(aliases.map(\.kind)), PostgresParameter(aliases.map(\.value)),
            PostgresParameter(limit), PostgresParameter(Int64(0)),
        ] + scope.values
    }

    private static func templates(_ make: (Alias, Scope) -> [SQL]) -> [SQLTemplate]? {
        guard let scope = Scope.sample, let alias = try? Alias(kind: "kind", value: "value") else { return nil }
        let statements = make(alias, scope)
        let sample = values([alias], limit: sampleLimit, scope)
        let templates = statements.compactMap { SQLTemplate($0, values: sample) }
        return templates.count == statements.count ? templates : nil
    }
}
