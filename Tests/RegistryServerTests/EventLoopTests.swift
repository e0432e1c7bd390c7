import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOPosix
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

/// Work on an event loop's thread delays all its connections.
@Suite(.timeLimit(.minutes(15))) struct EventLoopTests {
    /// Whether calls ran on an event loop's thread, by name.
    private final class Threads: Sendable {
        private let all = Mutex<[String: Bool]>([:])
        func note(_ name: String) {
            all.withLock { $0[name] = MultiThreadedEventLoopGroup.currentEventLoop != nil }
        }
        var onEventLoop: [String: Bool] { all.withLock(\.self) }
    }

    /// In HTTP/2, a body may come without a length.
    @Test func `A batch of unknown length does not run on the event loop`() async throws {
        let database = try await TestDatabase.make()
        let settings = ServerConfiguration(port: 0, insecureNoAuth: true)
        let responder = RegistryResponder(registry: database.registry, configuration: settings, logger: .silent)
        for (method, path, isBrief) in [
            (HTTPRequest.Method.post, "resolve", false), (.get, "aliases/orderId/1/activities", true),
            (.put, "activities/a-1", true),
        ] {
            let path = "/v1/apps/com.example.food/sandbox/\(path)"
            let head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: path)
            let request = Request(head: head, body: .none, connection: .init(EmbeddedChannel()), start: .now())
            #expect(responder.isBrief(try responder.locate(request)) == isBrief, "\(path)")
        }
    }

    @Test func `Only small batches and calls about one record or page run on the event loop`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        let threads = Threads()
        func route(_ method: HTTPRequest.Method, _ name: String, _ body: Route.Body = .none) -> Route {
            .scoped(method, "…/\(name)", for: .clientCalls, body: body) { call in
                let length = call.call.fields[.contentLength].flatMap(Int.init) ?? 0
                threads.note(length > 64 * 1024 ? "large \(name)" : name)
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
        try await LiveServer.run(responder, configuration) { (server: LiveServer) async throws in
            #expect(try await server.call(.get, "…/lookup").status == 204)
            #expect(try await server.call(.get, "…/everything").status == 204)
            #expect(try await server.send(.post, "…/batch", Array("{}".utf8)).status == 204)
            let large = Array("{}".utf8) + [UInt8](repeating: 0x20, count: 64 * 1024)
            #expect(try await server.send(.post, "…/batch", large).status == 204)
        }
        #expect(threads.onEventLoop == ["lookup": true, "batch": true, "large batch": false, "everything": false])
    }
}
