import Foundation
import PostgresDriver
import RegistryCore

/// A statement of a hot path, and what each of its parameters stands for: so that other programs can be measured at the
/// very same work.
public struct StatementOutline: Sendable, JSONEncodable {
    /// `resolve`, `resolve-many` or `register`; the statements of one path are sent in order, in one transaction.
    public let path: String
    public let sql: String
    /// What `$1`, `$2`, … stand for.
    public let parameters: [Parameter]

    /// A parameter by its name and the OID of its type. In the path `register` most are arrays of one value; `none` is an
    /// array of one NULL.
    public struct Parameter: Sendable {
        public let name: String
        public let type: UInt32
    }

    private init(_ path: String, _ statement: SQL, _ names: [PostgresParameter: String]) {
        self.path = path
        sql = statement.text
        parameters = statement.parameters.map {
            Parameter(name: names[$0] ?? "none", type: $0.type.rawValue)
        }
    }

    /// Writes `{path, sql, parameters: [{name, type}]}`.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("path", path)
            json.member("sql", sql)
            json.array("parameters") { json in
                for parameter in parameters {
                    json.object { json in
                        json.member("name", parameter.name)
                        json.member("type", Int(parameter.type))
                    }
                }
            }
        }
    }

    /// The statements of all hot paths.
    public static func all() throws -> [StatementOutline] {
        let sample = try Sample()
        let paths = [("resolve", sample.resolve), ("resolve-many", sample.resolveMany), ("register", sample.register)]
        return paths.flatMap { path, statements in
            statements.map { StatementOutline(path, $0, sample.names) }
        }
    }
}

/// Requests in which no two values are the same, so that a parameter's value tells its name.
private struct Sample {
    private let scope: Scope
    private let alias: Alias
    private let aliases: AliasSet
    private let limit = 1_000_003
    private let observedAt = Date(timeIntervalSince1970: 1_000_004)
    private let token = PushToken(bytes: Array("token".utf8))

    init() throws {
        guard let sample = Scope.sample else { throw UnreadableRow(detail: "there is no sample") }
        scope = sample
        alias = try Alias(kind: "kind", value: "value")
        aliases = try AliasSet([alias])
    }

    var resolve: [SQL] {
        [
            ResolveStatements.page(of: alias, after: 0, limit: limit, in: scope),
            ChannelStatements.channels(of: [alias], in: scope),
        ]
    }

    var resolveMany: [SQL] {
        [
            ResolveStatements.resolve([alias], limitPerAlias: limit, in: scope),
            ChannelStatements.channels(of: [alias], in: scope),
        ]
    }

    var register: [SQL] {
        var registration = ActivityRegistration(token: token)
        registration.observedAt = observedAt
        registration.aliases = aliases
        var batch = RegistrationBatch()
        _ = batch.add(RegistrationRequest(id: "activityId", registration: registration, who: "who", scope: scope))
        return RegistrationStatements(batch: batch, scope: scope).made
    }

    var names: [PostgresParameter: String] {
        [
            PostgresParameter(scope.app.number): "app",
            PostgresParameter(scope.environment.rawValue): "environment",
            PostgresParameter(scope.app.settings.tombstoneRetention): "tombstoneRetention",
            PostgresParameter(scope.app.settings.eventRetention): "eventRetention",
            PostgresParameter(alias.kind): "kind",
            PostgresParameter(alias.value): "value",
            PostgresParameter([alias.kind]): "kinds",
            PostgresParameter([alias.value]): "values",
            PostgresParameter(Int64(0)): "after",
            PostgresParameter(limit): "limit",
            PostgresParameter(["activityId"]): "activityId",
            PostgresParameter([token.bytes]): "token",
            PostgresParameter([observedAt]): "observedAt",
            PostgresParameter([JSONB(aliases.canonicalJSON)]): "aliases",
            PostgresParameter(["who"]): "who",
        ]
    }
}
