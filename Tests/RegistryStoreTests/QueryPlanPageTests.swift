import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Plans for pages of large result sets and exports. ``QueryPlanTests`` covers all queries.
@Suite(.timeLimit(.minutes(15))) struct QueryPlanPageTests {
    /// The most pages for a statement about a few rows; reading any large table or index whole exceeds it.
    private static let mostPages = 400
    private static let mostRemoved = 100

    @Test func `The check finds faulty plans`() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope)
        try await Self.checkControls(in: database, scope)
    }

    /// Faults that the check must find: a sequential scan, a full index scan, and an index condition on a column that
    /// is not the first, which discards no row.
    private static func checkControls(in database: TestDatabase, _ scope: Scope) async throws {
        let read = try await QueryPlan.plan(of: "SELECT FROM activities WHERE metadata IS NOT NULL", in: database)
        #expect(read.wholeReads == ["activities"])
        let walk: SQL = """
            SELECT FROM activities a WHERE a.scope_id = \(scope.id) AND a.attributes_type = 'none'
            ORDER BY a.activity_id LIMIT 1
            """
        #expect(try await QueryPlan.plan(of: walk, in: database).mostRemoved > mostRemoved)
        let search: SQL = """
            SELECT FROM activity_aliases al
            WHERE al.scope_id = \(scope.id) AND al.activity_key = 77 AND al.kind = 'orderId'
            """
        let plan = try await QueryPlan.plan(of: search, in: database)
        #expect(plan.pages > mostPages || plan.wholeReads != [], "\(plan.text)")
    }

    @Test func `The first page of a large alias does not join all its rows`() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope)
        try await database.script(
            """
            SET statement_timeout = 0;
            UPDATE activity_aliases SET value = 'crowd';
            UPDATE installation_aliases SET value = 'crowd'
            """
        )
        try await database.script(QueryPlanFilling.analysis)
        let alias = Alias.sample("orderId", "crowd")
        var request = PlanRequest(
            alias: alias,
            to: [.sample("orderId", "78")],
            attributesType: TestInstallation.types[0]
        )
        request.planID = "plan-1"
        let planned = PlanUnit(request: request, scope: scope, who: "test")
        let values = alias.values(in: scope)
        let names: QueryValues = ["scope": scope.id, "kinds": [alias.kind], "values": [alias.value]]
        let start: QueryValues = ["installation": [UInt8](), "type": "", "attributes_type": String?.none, "limit": 100]
        for statement in [
            Query("resolve.read-page")(values + ["after": 0, "limit": 100]),
            Query("resolve.read-pages")(names + ["limit": 100, "most": 1000]),
            Query("resolve.read-tokens")(values + start + ["token_kind": "start"]),
            Query("resolve.read-tokens")(values + start + ["token_kind": "device"]),
            planned.readRunning(after: 0)[0], planned.findInstallations(after: []),
        ] {
            let plan = try await QueryPlan.plan(of: statement, in: database)
            #expect(plan.mostRows <= 1000, "\(plan.text)")
        }
        let dense = Query("resolve.read-dense-range")(values + ["after": 20_000, "last": 22_000])
        let plan = try await QueryPlan.plan(of: dense, in: database)
        #expect(plan.mostRows == 2000, "\(plan.text)")
        #expect(!plan.text.contains("Join Filter") && plan.wholeReads == [], "\(plan.text)")
    }

    @Test func `Pages of an export are read by their keys`() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope)
        let size = Registry.exportPageSize
        let values: QueryValues = ["scope": scope.id, "after": Int64(20_000), "through": 20_000 + Int64(size)]
        let kinds = TokenKind.all.filter { $0 != .update }
        let statements =
            TokenKind.all.map { NumberRange.find(of: $0, after: 20_000, size: size, in: scope) }
            + kinds.map { Query("export.read-tokens")(values + ["kind": $0.name]) }
            + [Query("export.read-activities")(values)]
            + [Query("export.read-installations")(["scope": scope.id, "after": [UInt8](0x80...0x80), "limit": size])]
            + [Query("export.read-names")(["scope": scope.id, "alias": "activity-5", "owner": "app", "limit": size])]
            + [Query("sweep.count-overdue")(["scope": scope.id, "limit": OverdueExpiry.countLimit])]
        for plan in try await QueryPlan.plans(of: statements, in: database) {
            #expect(plan.wholeReads == [], "\(plan.statement)\n\(plan.text)")
            #expect(plan.mostRows <= size, "\(plan.statement)\n\(plan.text)")
            #expect(plan.mostRemoved <= Self.mostRemoved, "\(plan.statement)\n\(plan.text)")
        }
    }
}
