import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOPosix
import PostgresDriver
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

/// Work on an event loop's thread delays all its connections.
@Suite(.timeLimit(.minutes(15))) struct EventLoopTests {
    /// In HTTP/2, a body may come without a length.
    @Test(.service) func `A batch of unknown length does not run on the event loop`() async throws {
        for (method, path, isBrief) in [
            (HTTPRequest.Method.post, "resolve", false), (.get, "aliases/orderId/1/activities", true),
            (.put, "activities/a-1", true),
        ] {
            let path = "\(PipeliningTests.path)/\(path)"
            let head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: path)
            let request = Request(head: head, body: .none, connection: .init(EmbeddedChannel()), start: .now())
            #expect(responder.isBrief(try responder.locate(request)) == isBrief, "\(path)")
        }
    }

    @Test func `Only small batches and calls about one record or page run on the event loop`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        // Whether calls ran on an event loop's thread, by name.
        let onEventLoop = Mutex<[String: Bool]>([:])
        func route(_ method: HTTPRequest.Method, _ name: String, _ body: Route.Body = .none) -> Route {
            .scoped(method, "…/\(name)", for: .clientCalls, body: body) { call in
                let length = call.call.fields[.contentLength].flatMap(Int.init) ?? 0
                let isOn = MultiThreadedEventLoopGroup.currentEventLoop != nil
                onEventLoop.withLock { $0[length > 64 * 1024 ? "large \(name)" : name] = isOn }
                return .noContent
            }
        }
        let configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        let responder = RegistryResponder(
            registry: database.registry,
            configuration: configuration,
            logger: .silent,
            routes: [
                route(.get, "lookup"), route(.get, "everything").heavy,
                route(.post, "batch", .batch).costing(.heavyUnlessSmall),
            ]
        )
        try await Listener.run(configuration, responder.respond) { port in
            let server = LiveServer(port: port, registry: database.registry)
            let large = Array("{}".utf8) + [UInt8](repeating: 0x20, count: 64 * 1024)
            for (method, path, body) in [
                (HTTPRequest.Method.get, "lookup", nil), (.get, "everything", nil), (.post, "batch", Array("{}".utf8)),
                (.post, "batch", large),
            ] as [(HTTPRequest.Method, String, [UInt8]?)] {
                let reply = try await server.send(method, "…/\(path)", body)
                #expect(reply.status == 204)
            }
        }
        let expected = ["lookup": true, "batch": true, "large batch": false, "everything": false]
        #expect(onEventLoop.withLock(\.self) == expected)
    }
}

/// A request's deadline covers its lookups, its wait for a worker and its work.
@Suite(.timeLimit(.minutes(15))) struct RequestTimeTests {
    private static let requestTimeout = Duration.seconds(4)

    /// Runs the service with a short deadline, and gives the test a way to lock tables.
    private static func run(_ test: (LiveServer, TestDatabase) async throws -> Void) async throws {
        let (database, _) = try await TestDatabase.withScope()
        let pool = TestDatabase.pool(database.connectionString, connections: 4, timeout: requestTimeout)
        try await ServiceTrait.service.run(on: Registry(pool: pool, logger: .silent)) { try await test($0, database) }
        await pool.shutdown()
    }

    private static func time(of call: @Sendable () async throws -> Reply) async throws -> Duration {
        let start = ContinuousClock.now
        let reply = try await call()
        #expect(reply.status == 503)
        #expect(reply.fields[.retryAfter] != nil)
        return .now - start
    }

    /// Expects a response in time if the lookup of the app takes 3 seconds and the table stays locked afterwards.
    private static func afterSlowLookup(_ call: @escaping @Sendable (LiveServer) async throws -> Reply) async throws {
        try await run { server, database in
            let work = try await HeldTransaction("LOCK TABLE activities", in: database)
            let lookup = try await HeldTransaction("LOCK TABLE apps", in: database)
            async let answered = Self.time { try await call(server) }
            _ = try await database.count("SELECT count(pg_sleep(3))")
            try await lookup.release()
            let time = try await answered
            #expect(time < .seconds(5.5), "\(time)")
            try await work.release()
        }
    }

    @Test(arguments: [true, false])
    func `A registration or cold call after a slow app lookup has the remaining time`(_ isCold: Bool) async throws {
        try await Self.afterSlowLookup {
            isCold ? try await $0.call(.get, "…/activities/a-1") : try await $0.register("a-1", token: 1)
        }
    }

    @Test func `A registration that waited for its turn has the remaining time`() async throws {
        try await Self.run { server, database in
            // The app is cached from here on.
            #expect(try await server.register("a-0", token: 100).status == 201)
            let work = try await HeldTransaction("LOCK TABLE activities", in: database)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let register = { @Sendable (number: Int) in
                    let time = try await Self.time { try await server.register("a-\(number)", token: number) }
                    #expect(time < .seconds(5.25), "\(time)")
                }
                // The first ones occupy all workers for 4 seconds.
                for number in 1...10 { group.addTask { try await register(number) } }
                _ = try await database.count("SELECT count(pg_sleep(2.5))")
                for number in 11...20 { group.addTask { try await register(number) } }
                try await group.waitForAll()
            }
            try await work.release()
        }
    }
}
