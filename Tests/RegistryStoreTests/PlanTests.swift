import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The plans of the service's statements on 100,000 activities, as its own connections make and run them: every table is
/// reached by an index, and none of those is walked whole.
@Suite struct PlanTests {
    /// The most pages that a statement about a few rows may look at: a whole read of any large table or index is more.
    private static let mostPages = 400
    /// The most rows that a step of it may read in vain.
    private static let mostRemoved = 100

    @Test("Statements are neither reads nor walks of all", .timeLimit(.minutes(15)))
    func statementsAreNeitherReadsNorWalksOfAll() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await PlanFilling.fill(database, scope)
        try await Self.checkControls(in: database, scope)
        let groups = PlannedStatements.all(in: scope)
        var plans: [[ProductionPlan]] = []
        for group in groups { plans.append(try await ProductionPlan.plans(of: group.statements, in: database)) }
        Self.check(plans, of: groups, "100,000 activities")
    }

    /// Postgres's knowledge of the tables when the plans were made.
    enum Knowledge: String, CaseIterable {
        case nothing
        case thatTheyWereEmpty = "that they were empty"
        case ofAHundredActivities = "of a hundred activities"
    }

    /// Plans are kept for ten seconds, or until Postgres counts a table's rows anew. By then there may be a thousand times as
    /// many. Where Postgres knew that there were no rows at all, every way to them costs it nothing, and none is better than
    /// another: what holds then is that plans are soon made anew.
    @Test("Plans made before the tables grew are no worse", .timeLimit(.minutes(15)), arguments: Knowledge.allCases)
    func plansMadeBeforeTheTablesGrewAreNoWorse(_ knowledge: Knowledge) async throws {
        // The rows may take longer than plans are kept, and what the tests beside this one change may end them, too.
        let database = try await TestDatabase.make(maximumConnections: 1, isAlone: true, keepsPlans: true)
        let scope = try await database.scope()
        try await database.switchOffAutovacuum()
        switch knowledge {
        case .nothing: break
        case .thatTheyWereEmpty: try await database.pool.withSession { try $0.simple(PlanFilling.analysis) }
        case .ofAHundredActivities: try await PlanFilling.fill(database, scope, count: 100)
        }
        let first = knowledge == .ofAHundredActivities ? 101 : 1
        let groups = PlannedStatements.all(in: scope)
        let plans = try await ProductionPlan.plans(
            of: groups.map(\.statements),
            madeBefore: { try await PlanFilling.fill(database, scope, from: first, count: 100_000, analyzes: false) },
            areRenewed: knowledge == .thatTheyWereEmpty,
            in: database
        )
        Self.check(plans, of: groups, "100,000 activities, by plans that knew \(knowledge.rawValue)")
    }

    private static func check(_ plans: [[ProductionPlan]], of groups: [PlannedStatements], _ tables: String) {
        var (count, most) = (0, 0)
        for (group, plans) in zip(groups, plans) {
            for plan in plans {
                count += 1
                if !group.countsMany { most = max(most, plan.pages) }
                let isFaulty =
                    plan.wholeReads != []
                    || (!group.countsMany && (plan.mostRemoved > mostRemoved || plan.pages > mostPages))
                #expect(!isFaulty, "\(group.name), \(plan.pages) pages: \(plan.statement)\n\(plan.text)")
            }
        }
        print("figure: plans of \(count) statements on \(tables): at most \(most) pages")
    }

    /// Faults that the test must see: a table that is read whole, an index that is walked whole, and one whose condition
    /// names a column that does not come first, which removes no row.
    private static func checkControls(in database: TestDatabase, _ scope: Scope) async throws {
        let read = try await ProductionPlan.plan(of: "SELECT FROM activities WHERE metadata IS NOT NULL", in: database)
        #expect(read.wholeReads == ["activities"])
        let walk: SQL = """
            SELECT FROM activities a WHERE a.scope_id = \(scope.id) AND a.attributes_type = 'none'
            ORDER BY a.activity_id LIMIT 1
            """
        #expect(try await ProductionPlan.plan(of: walk, in: database).mostRemoved > mostRemoved)
        let search: SQL = """
            SELECT FROM activity_aliases al
            WHERE al.scope_id = \(scope.id) AND al.activity_key = 77 AND al.kind = 'orderId'
            """
        let plan = try await ProductionPlan.plan(of: search, in: database)
        #expect(plan.pages > mostPages || plan.wholeReads != [], "\(plan.text)")
    }

    /// A crowd under one alias: its first page must not cost what the crowd costs.
    @Test("First page of a crowd is not joined whole", .timeLimit(.minutes(15)))
    func firstPageOfACrowdIsNotJoinedWhole() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await PlanFilling.fill(database, scope)
        try await database.pool.withSession { session in
            try session.simple(
                """
                SET statement_timeout = 0;
                UPDATE activity_aliases SET value = 'crowd';
                UPDATE installation_aliases SET value = 'crowd'
                """
            )
        }
        try await database.pool.withSession { try $0.simple(PlanFilling.analysis) }
        let alias = Alias.sample("orderId", "crowd")
        for statement in [
            ResolveStatements.page(of: alias, after: 0, limit: 100, in: scope),
            ResolveStatements.resolve([alias], limitPerAlias: 100, limit: 1000, in: scope),
            PlannedStatements.tokenPage(of: alias, .start, in: scope),
            PlannedStatements.tokenPage(of: alias, .device, in: scope),
            PlannedStatements.plan(of: alias, in: scope).activities(after: 0, limit: 100),
            PlannedStatements.plan(of: alias, in: scope).installations(after: [], limit: 100),
        ] {
            let plan = try await ProductionPlan.plan(of: statement, in: database)
            #expect(plan.mostRows <= 1000, "\(plan.text)")
        }
        let dense = ResolveStatements.denseRange(of: alias, after: 20_000, through: 22_000, in: scope)
        let plan = try await ProductionPlan.plan(of: dense, in: database)
        #expect(plan.mostRows == 2000, "\(plan.text)")
        #expect(!plan.text.contains("Join Filter") && plan.wholeReads == [], "\(plan.text)")
    }

    @Test("Pages of an export are read by their keys", .timeLimit(.minutes(15)))
    func pagesOfAnExportAreReadByTheirKeys() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await PlanFilling.fill(database, scope)
        let export = ExportStatements(scope: scope)
        let statements =
            TokenKind.all.map { export.range(of: $0, after: 20_000) }
            + TokenKind.all.map {
                export.rows(of: $0, after: 20_000, through: 20_000 + Int64(ExportStatements.pageSize))
            }
            + [export.installations(after: [0x80]), export.names(after: "activity-5", "app")]
            + [SweepStatements(scope: scope).overdue(limit: OverdueExpiry.countLimit)]
        for plan in try await ProductionPlan.plans(of: statements, in: database) {
            #expect(plan.wholeReads == [], "\(plan.statement)\n\(plan.text)")
            #expect(plan.mostRows <= ExportStatements.pageSize, "\(plan.statement)\n\(plan.text)")
            #expect(plan.mostRemoved <= Self.mostRemoved, "\(plan.statement)\n\(plan.text)")
        }
    }
}
