import Foundation
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

    /// A page that is not full is the last one. The next page fails without Postgres.
    @Test(arguments: [true, false])
    func `Only a complete stream has its last line`(_ isComplete: Bool) async throws {
        let count = ActivityStream.firstPageSize - (isComplete ? 1 : 0)
        let stream = try Self.stream(pageOf: count)
        try await Listener.run(ServerConfiguration(port: 0), { _ in .stream(stream) }) { port in
            let connection = try RawConnection(port: port)
            connection.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let answer = await connection.read()
            #expect(answer.contains(#""activityId":"a-\#(count)""#))
            #expect(answer.suffix(60).contains(#"{"end":true,"count":\#(count)}"#) == isComplete)
            #expect(answer.utf8.suffix(5).elementsEqual("0\r\n\r\n".utf8) == isComplete)
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
