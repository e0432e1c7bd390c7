import Foundation
import PostgresDriver
import RegistryCore
import Testing

@testable import RegistryStore

/// Templates say the very same as the statements that they were made from.
@Suite struct TemplateTests {
    private static func scope() throws -> Scope {
        let app = App(
            id: 7,
            scopeIDs: ScopeIDs(sandbox: 13, production: 14),
            bundleID: try BundleID("com.example.food"),
            settings: AppSettings(),
            createdAt: .now,
            updatedAt: .now
        )
        return Scope(app: app, environment: .production)
    }

    @Test("Templates of resolves say the same as the statements") func resolvesAreTheSame() throws {
        let scope = try Self.scope()
        let aliases = [try Alias(kind: "orderId", value: "o-1"), try Alias(kind: "userId", value: "u-1")]
        let one = [
            ResolveStatements.page(of: aliases[0], after: 0, limit: 101, in: scope),
            ResolveStatements.channels(of: [aliases[0]], in: scope),
        ]
        let many = [
            ResolveStatements.resolve(aliases, limitPerAlias: 11, limit: 22, in: scope),
            ResolveStatements.channels(of: aliases, in: scope),
        ]
        let templates = [
            ResolveTemplates.one.statements(
                of: .init(aliases: [aliases[0]], limit: 101, limitOfAll: 101, scope: scope)
            ),
            ResolveTemplates.many.statements(of: .init(aliases: aliases, limit: 11, limitOfAll: 22, scope: scope)),
        ]
        #expect(templates.map { $0.map(\.text) } == [one.map(\.text), many.map(\.text)])
        #expect(templates.map { $0.map(\.parameters) } == [one.map(\.parameters), many.map(\.parameters)])
    }

    /// Each parameter that others are told of has a name, and one only.
    @Test("Outlines name all that statements hold") func outlinesNameAllThatStatementsHold() throws {
        let outlines = StatementOutline.all
        #expect(Set(outlines.map(\.path)) == ["resolve", "resolve-many"])
        let page = try #require(outlines.first { $0.path == "resolve" })
        // The views' texts have the scope, too.
        let others = page.parameters.map(\.name).filter { $0 != "scope" }
        #expect(others == ["kind", "value", "after", "limit"])
    }
}
