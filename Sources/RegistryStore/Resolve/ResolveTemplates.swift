import PostgresDriver
import RegistryCore

enum ResolveTemplates {
    /// At least one alias, and the most activities of each and of all together.
    struct Input: Sendable {
        let aliases: [Alias]
        let limit: Int
        let limitOfAll: Int
        let scope: Scope

        static var sample: Input {
            let alias = Alias(checkedKind: "kind", value: "value")
            return Input(aliases: [alias], limit: 1_000_007, limitOfAll: 1_000_008, scope: .sample)
        }

        static func values(of input: Input) -> [PostgresParameter] {
            [
                PostgresParameter(input.aliases[0].kind), PostgresParameter(input.aliases[0].value),
                PostgresParameter(input.aliases.map(\.kind)), PostgresParameter(input.aliases.map(\.value)),
                PostgresParameter(input.limit), PostgresParameter(input.limitOfAll), PostgresParameter(Int64(0)),
            ] + input.scope.values
        }
    }

    /// With one alias, both limits are equal.
    static let valueNames = ["kind", "value", "kinds", "values", "limit", "limit", "after"] + Scope.valueNames

    static let one = TemplatedStatements(sample: .sample, values: Input.values(of:)) { (input: Input) in
        [
            ResolveStatements.page(of: input.aliases[0], after: 0, limit: input.limit, in: input.scope),
            ResolveStatements.channels(of: [input.aliases[0]], in: input.scope),
        ]
    }

    static let many = TemplatedStatements(sample: .sample, values: Input.values(of:)) { (input: Input) in
        [
            ResolveStatements.resolve(
                input.aliases,
                limitPerAlias: input.limit,
                limit: input.limitOfAll,
                in: input.scope
            ),
            ResolveStatements.channels(of: input.aliases, in: input.scope),
        ]
    }
}
