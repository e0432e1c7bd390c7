import Foundation
import PostgresDriver
import Synchronization
import TestSupport
import Testing

func withPool<Value>(
    _ maximumConnections: Int = 4,
    on connectionString: String? = nil,
    _ body: (PostgresPool) async throws -> Value
) async throws -> Value { try await withPool(configuration: ownSchema(maximumConnections, on: connectionString), body) }

/// Gives a test a pool with a new schema in the shared cluster.
struct PoolTrait: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal fileprivate static var pool: PostgresPool?
    let maximumConnections: Int
    let isRecursive = true

    func provideScope(for _: Test, testCase _: Test.Case?, performing test: TestBody) async throws {
        try await withPool(maximumConnections) { pool in try await Self.$pool.withValue(pool, operation: test) }
    }
}

extension Trait where Self == PoolTrait {
    static func pool(_ maximumConnections: Int) -> Self { PoolTrait(maximumConnections: maximumConnections) }
}

var pool: PostgresPool { PoolTrait.pool ?? { fatalError("The test lacks the trait .pool.") }() }

/// A configuration with long timeouts and a new schema, in the shared cluster by default.
func ownSchema(
    _ maximumConnections: Int = 4,
    on connectionString: String? = nil,
    change: (inout PostgresConfiguration) -> Void = { _ in }
) async throws -> PostgresConfiguration {
    let schema = "test_\(UUID().uuidString.prefix(8).lowercased())"
    let shared = try await ThrowawayCluster.shared.socketString
    var configuration = PostgresConfiguration(
        connectionString: connectionString ?? shared,
        requestTimeout: .seconds(30),
        statementTimeout: .seconds(20)
    )
    configuration.applicationName = schema
    configuration.maximumConnections = maximumConnections
    configuration.connectTimeout = .seconds(10)
    configuration.lockTimeout = .seconds(20)
    configuration.settings = ["search_path": schema]
    // Two simultaneous connections collide here in spite of IF NOT EXISTS. The schema exists afterwards.
    configuration.onConnect = { try? $0.simple("CREATE SCHEMA IF NOT EXISTS \(schema)") }
    change(&configuration)
    return configuration
}

func withPool<Value>(
    configuration: PostgresConfiguration,
    _ body: (PostgresPool) async throws -> Value
) async throws -> Value {
    let pool = PostgresPool(configuration: configuration)
    return try await perform({ try await body(pool) }, andThen: { await pool.shutdown() })
}

func postgresError(
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () async throws -> Void
) async throws -> PostgresError {
    do {
        try await work()
    } catch let error as PostgresError { return error }
    Issue.record(comment ?? "no error", sourceLocation: sourceLocation)
    throw Failure("no error")
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A meeting point for closures on several connections: the first ones wait for each other, later ones pass.
final class Rendezvous: @unchecked Sendable {
    private let condition = NSCondition()
    private var missing: Int

    init(_ parties: Int) { missing = parties }

    func arrive() {
        condition.withLock {
            missing -= 1
            condition.broadcast()
            while missing > 0 { condition.wait() }
        }
    }
}

final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    @discardableResult
    func increment() -> Int { count.add(1, ordering: .sequentiallyConsistent).newValue }
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
}

/// A session of a connection with a schema of its own.
func withSession<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
) async throws -> Value { try await withPool(1) { try await $0.withSession { try body($0) } } }

extension PostgresPool {
    /// The answers of several connections at the same time.
    func meet<Value: PostgresDecodable & Sendable>(
        _ question: SQL,
        as type: Value.Type = Int.self,
        width: Int = 4,
        _ retry: RetryPolicy = .ifSafe
    ) async throws -> [Value] {
        let meeting = Rendezvous(width)
        return try await concurrently(0..<width) { _ in
            try await self.withSession(retry) { session in
                meeting.arrive()
                return try session.execute(question)[0].decode(Value.self)
            }
        }
    }

    func transact<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresTransaction) throws -> Value
    ) async throws -> Value { try await withSession { try $0.transaction(body) } }

    func run(_ statements: SQL...) async throws {
        try await withSession { session in _ = try session.pipeline(statements) }
    }

    func value<Value: PostgresDecodable & Sendable>(_ type: Value.Type, _ sql: SQL) async throws -> Value {
        try await withSession { session in try session.execute(sql)[0].decode(type) }
    }
}
