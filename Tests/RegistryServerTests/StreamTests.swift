import Foundation
import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct StreamTests {
    /// A page larger than all socket buffers. The next page cannot be read without Postgres.
    private static func stream(pageOf count: Int) throws -> ActivityStream {
        let now = Date()
        return ActivityStream(
            registry: .away(within: .milliseconds(300)),
            alias: .sample("userId", "u"),
            scope: Scope(app: .sample(), environment: .sandbox),
            first: AliasPage(
                activities: (1...count).map { .sample($0, at: now) },
                channels: [],
                next: count == ActivityStream.firstPageSize ? Int64(count) : nil
            )
        )
    }

    private static func serve(
        _ stream: ActivityStream,
        stalledReader: Duration = .seconds(60),
        _ test: @Sendable (_ port: Int, _ ends: AsyncStream<String>) async throws -> Void
    ) async throws {
        let (ends, end) = AsyncStream.makeStream(of: String.self)
        var configuration = ServerConfiguration(port: 0)
        configuration.limits.stalledReader = stalledReader
        let watched = WatchedStream(stream: stream, ends: end)
        try await Listener.run(configuration, { _ in .stream(watched) }) { try await test($0, ends) }
    }

    private struct WatchedStream: ResponseStream {
        let stream: ActivityStream
        let ends: AsyncStream<String>.Continuation

        func write(to writer: Exchange) async throws {
            do {
                try await stream.write(to: writer)
                ends.yield("whole")
            } catch {
                ends.yield("broken")
                throw error
            }
        }
    }

    /// A complete stream differs from a truncated one by its last line and HTTP's last chunk.
    @Test(.service) func `A stream contains all activities of an alias`() async throws {
        let (installations, size) = (3, ActivityStream.firstPageSize / 3 + 1)
        for installation in 0..<installations {
            let items = (0..<size).map { number -> JSONValue in
                [
                    "activityId": .string("a-\(installation)-\(number)"), "aliases": ["orderId": "o"],
                    "token": .token(installation * 1000 + number), "metadata": ["seat": .integer(Int64(number))],
                ]
            }
            let body: JSONValue = ["observedAt": .minutesAgo(1), "activities": .array(items)]
            let reply = try await server.call(.put, "…/installations/i-\(installation)/activities", body)
            #expect(reply.status == 200)
        }
        let path = "…/aliases/orderId/o/activities?include=metadata"
        let stream = try await server.call(.get, path, nil, [.accept: "application/x-ndjson"])
        #expect(stream.fields[.contentType] == "application/x-ndjson")
        #expect(stream.fields[.contentLength] == nil)
        #expect(stream.fields[.cacheControl] == "no-store")
        #expect(stream.lines.last == ["end": true, "count": .integer(Int64(installations * size))])
        #expect(Set(stream.lines.compactMap { $0["token"] }).count == installations * size)
        #expect(stream.lines.dropFirst().dropLast().allSatisfy { $0["metadata"]?["seat"] != nil })
    }

    @Test func `A stream ends without its last line when Postgres fails`() async throws {
        try await Self.serve(Self.stream(pageOf: ActivityStream.firstPageSize)) { port, ends in
            let connection = try RawConnection(port: port)
            connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = await connection.read()
            let hasPage = answer.contains(#""activityId":"a-\#(ActivityStream.firstPageSize)""#)
            let hasEnd = answer.contains(#""end":true"#)
            #expect(hasPage && !hasEnd)
            #expect(!answer.utf8.suffix(5).elementsEqual("0\r\n\r\n".utf8))
            #expect(await ends.first { _ in true } == "broken")
        }
    }

    @Test func `A page that is not full is the last one`() async throws {
        try await Self.serve(Self.stream(pageOf: ActivityStream.firstPageSize - 1)) { port, _ in
            let connection = try RawConnection(port: port)
            connection.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let answer = await connection.read()
            let count = ActivityStream.firstPageSize - 1
            #expect(answer.suffix(60).contains(#"{"end":true,"count":\#(count)}"#))
            #expect(answer.utf8.suffix(5).elementsEqual("0\r\n\r\n".utf8))
        }
    }

    @Test func `A reader that stops reading is disconnected`() async throws {
        try await Self.serve(Self.stream(pageOf: 100_000), stalledReader: .milliseconds(300)) { port, ends in
            let connection = try RawConnection(port: port, receiveBuffer: 4096)
            connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(await ends.first { _ in true } == "broken")
            withExtendedLifetime(connection) {}
        }
    }
}

extension ResolvedActivity {
    fileprivate static func sample(_ number: Int, at time: Date) -> ResolvedActivity {
        ResolvedActivity(
            key: Int64(number),
            activityID: .sample("a-\(number)"),
            token: .sample(number),
            startedAt: time,
            observedAt: time,
            confirmedAt: time,
            expiresAt: time,
            revision: 1
        )
    }
}
