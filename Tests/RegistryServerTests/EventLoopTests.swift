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
        try await LiveServer.run(responder, configuration) { server in
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
