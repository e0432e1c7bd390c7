import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ChangeCallTests {
    private static func open(
        _ query: String = "",
        accept: String = "application/x-ndjson",
        _ more: String = "",
        receiveBuffer: Int32? = nil
    ) throws -> RawConnection {
        let connection = try RawConnection(port: server.port, receiveBuffer: receiveBuffer)
        connection.send(
            """
            GET \(PipeliningTests.path)/changes\(query) HTTP/1.1\r\nHost: localhost\r\nAccept: \(accept)\r\n\(more)\r\n
            """
        )
        return connection
    }

    private static func position() async throws -> String {
        try #require(try await server.call(.get, "…/changes")["after"].string)
    }

    @Test(.service)
    func `A position is returned at once, and the changes since it come with the next position`() async throws {
        let start = try await server.call(.get, "…/changes?wait=60")
        #expect(start.status == 200)
        #expect(start["changes"] == [])
        #expect(start["more"] == false)
        var after = try await Self.position()
        for number in 0..<3 { try await server.register("a-\(number)", token: number) }
        var (found, sizes, hasMore): ([JSONValue], [Int], Bool) = ([], [], true)
        while hasMore {
            let page = try await server.call(.get, "…/changes?limit=2&after=\(after)")
            found += page["changes"].all("activityId")
            sizes.append(page["changes"].all("id").count)
            hasMore = page["more"] == true
            if case .string(let next) = page["after"] { after = next }
        }
        #expect(sizes.prefix(2) == [2, 1])
        #expect(found == ["a-0", "a-1", "a-2"])
        let quiet = try await server.call(.get, "…/changes?after=\(after)")
        #expect(quiet["changes"] == [])
        #expect(quiet["more"] == false)
    }

    @Test(.service) func `A change has its kind and its subject, and no token`() async throws {
        let after = try await Self.position()
        try await server.register("a-1", token: 1)
        try await server.register("a-1", token: 2)
        #expect(try await server.call(.delete, "…/activities/a-1").status == 204)
        let page = try await server.call(.get, "…/changes?after=\(after)")
        #expect(page["changes"].all("type") == ["available", "rotated", "ended"])
        #expect(page["changes"].all("state") == ["active", "active", "ended"])
        #expect(page["changes"][0]["aliases"] == ["liveactivityId": ["order-42"]])
        #expect(page["changes"][2]["reason"] == "ended")
        let text = page.text
        for number in 1...2 { #expect(!text.contains(PushToken.sample(number).hexadecimal)) }
    }

    @Test(.service)
    func `A response waits for a change that passes the filter, at most until its deadline`() async throws {
        let after = try await Self.position()
        async let waited = server.call(.get, "…/changes?after=\(after)&wait=60&alias=liveactivityId:wanted")
        try await server.register("a-1", token: 1, alias: "other")
        try await server.register("a-2", token: 2, alias: "wanted")
        #expect(try await waited["changes"].all("activityId") == ["a-2"])
        let begin = ContinuousClock.now
        let none = try await server.call(.get, "…/changes?after=\(after)&wait=1&types=ended")
        #expect(none["changes"] == [])
        #expect(none["more"] == false)
        #expect(begin.duration(to: .now) >= .milliseconds(900))
        #expect(none["after"] != .string(after), "the position must advance without changes")
    }

    @Test(.service)
    func `A stream of lines begins with a bookmark, then sends changes and a bookmark after them`() async throws {
        let connection = try Self.open()
        #expect(await connection.read(past: #""at":"#).contains(#"{"after":""#))
        try await server.register("a-1", token: 1)
        let told = await connection.read(past: #""at":"#)
        let more = told.contains(#"{"after":"#) ? "" : await connection.read(past: #"{"after":"#)
        let lines = (told + more).split(separator: "\n")
        let change = try #require(lines.firstIndex { $0.contains(#""activityId":"a-1""#) })
        let bookmark = try #require(lines.firstIndex { $0.contains(#"{"after":"#) })
        #expect(lines[change].contains(#""type":"available""#))
        #expect(change < bookmark)
    }

    @Test(.service) func `Server-sent events have their position as id and resume by Last-Event-ID`() async throws {
        let after = try await Self.position()
        try await server.register("a-1", token: 1)
        let first = try Self.open(accept: "text/event-stream", "Last-Event-ID: \(after)\r\n")
        let text = await first.read(past: "event: bookmark")
        #expect(text.contains("text/event-stream"))
        #expect(text.lowercased().contains("x-accel-buffering: no"))
        #expect(text.contains("event: change\ndata: {") && text.contains(#""activityId":"a-1""#))
        let id = try #require(text.split(separator: "\n").last { $0.hasPrefix("id: ") }).dropFirst(4)
        first.finish()
        try await server.register("a-2", token: 2)
        // `Last-Event-ID` has precedence over the position in the URL, which a browser keeps.
        let second = try Self.open("?after=\(after)", accept: "text/event-stream", "Last-Event-ID: \(id)\r\n")
        let resumed = await second.read(past: "event: bookmark")
        #expect(resumed.contains("a-2") && !resumed.contains("a-1"))
    }

    @Test(.service) func `An invalid position gets a 410, also for a stream`() async throws {
        let after = try await Self.position()
        try await database.execute("SELECT setval('events_event_number_seq', 1000)")
        try await server.register("a-1", token: 1)
        let late = try await Self.position()
        #expect(try await server.call(.get, "…/changes?after=\(late)").status == 200)
        // Imitates a restored backup.
        try await database.execute("SELECT setval('events_event_number_seq', 500)")
        #expect(try await server.call(.get, "…/changes?after=\(after)").status == 200)
        let reset = try await server.call(.get, "…/changes?after=\(late)")
        #expect(reset.status == 410)
        #expect(reset.problem == "feed-reset")
        let answer = try await Self.open("?after=\(late)").read(past: "feed-reset")
        #expect(answer.hasPrefix("HTTP/1.1 410"))
        #expect(answer.contains("feed-reset"))
    }

    @Test(.service) func `A key has 32 streams, and is refused more with Retry-After until one ends`() async throws {
        var streams: [RawConnection] = []
        for _ in 0..<FollowerCount().limitOfKey {
            let connection = try Self.open()
            _ = await connection.read(past: #""at":"#)
            streams.append(connection)
        }
        let answer = try await Self.open().read(past: "\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 503"))
        #expect(answer.lowercased().contains("retry-after: 5"))
        #expect(try await server.call(.get, "…/changes").status == 200)
        streams.removeLast().reset()
        try await until { try await Self.open().read(past: "\r\n").hasPrefix("HTTP/1.1 200") }
    }

    @Test func `An instance has 64 streams of all keys, and a key leaves room for the others`() throws {
        let followers = FollowerCount()
        var permits: [Permit] = []
        for number in 0..<64 { permits.append(try followers.countFollower(of: UTF8Text("key \(number / 32)"))) }
        for key in ["key 0", "key 2"] as [UTF8Text] {
            #expect { try followers.countFollower(of: key) } throws: { "\($0)".contains("This instance has 64") }
        }
        permits.removeLast(16)
        #expect(followers.value == 48)
        #expect(throws: Problem.self) { try followers.countFollower(of: "key 0") }
        permits.removeAll()
        #expect(followers.value == 0)
    }

    @Test(.service { $0.limits.stalledReader = .milliseconds(300) })
    func `A stream that stops reading is closed and makes room for others`() async throws {
        let scope = try await database.scope()
        var streams: [RawConnection] = []
        for _ in 0..<FollowerCount().limitOfKey {
            let connection = try Self.open(receiveBuffer: 4096)
            #expect(await connection.take(most: 15) == 15)
            streams.append(connection)
        }
        #expect(try await Self.open().read(past: "\r\n").hasPrefix("HTTP/1.1 503"))
        // Writes more changes than the buffers of a connection hold.
        try await database.execute(
            """
            INSERT INTO events (scope_id, drop_on, type, who, activity_id)
            SELECT \(scope.id), current_date + 9, 'changed', 'test', 'a-' || n FROM generate_series(1, 60000) AS n
            """
        )
        try await until { try await Self.open().read(past: "\r\n").hasPrefix("HTTP/1.1 200") }
        withExtendedLifetime(streams) {}
    }

    private static func feed(_ registry: Registry, _ notice: ShutdownNotice = ShutdownNotice()) -> ChangeFeed {
        ChangeFeed(registry: registry, shutdownNotice: notice, logger: .silent)
    }

    /// Reads until a batch with changes.
    private static func isTold(_ follower: inout ChangeFeed.Batches.AsyncIterator) async throws -> Bool {
        while let batch = try await follower.next() { if !batch.changes.isEmpty { return true } }
        return false
    }

    @Test func `All followers of a scope share one reader until the last one leaves`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        var changes = AppChanges()
        changes.eventRetention = .seconds(40 * 86_400)
        let changed = try await database.scope("com.example.food", .sandbox, changes)
        #expect(changed != scope)
        let feed = Self.feed(database.registry)
        #expect(feed.scopeCount == 0)
        do {
            let streams = (0..<5).map { feed.follow($0 < 3 ? scope : changed, until: .now + .seconds(3600)) }
            for stream in streams { _ = try await stream.first { _ in true } }
            #expect(feed.scopeCount == 1)
        }
        try await until { feed.scopeCount == 0 }
    }

    /// Counts the feed's reads until all followers have the change, because times vary on a shared machine.
    @Test func `Any number of followers of a scope cost one read per round`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let registry = database.anotherRegistry()
        let feed = Self.feed(registry)
        var followers = (0..<FollowerCount.limit).map { _ in
            feed.follow(scope, until: .now + .seconds(3600)).makeAsyncIterator()
        }
        for index in followers.indices { _ = try await followers[index].next() }
        func reads() -> Int { registry.metrics.statements[.reads]?.snapshot.count ?? 0 }
        for number in 0..<5 {
            try await database.registry.registerSample("a-\(number)", token: number, minutesAgo: 1, in: scope)
            let before = reads()
            for index in followers.indices { #expect(try await Self.isTold(&followers[index])) }
            // One read may have begun before the change, and one after all followers received it.
            #expect(reads() - before <= 3)
        }
        #expect(ChangeFeed.pollInterval <= .milliseconds(250), "the promised delay of an idle feed")
    }

    @Test func `Streams end with the service and at their deadline`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let notice = ShutdownNotice()
        let feed = ChangeFeed(registry: database.registry, shutdownNotice: notice, logger: .silent)
        for try await _ in feed.follow(scope, until: .now + .milliseconds(300)) {}
        let stream = feed.follow(scope, until: .now + .seconds(3600))
        notice.give()
        for try await _ in stream {}
    }

    @Test func `A follower that does not read is disconnected, and no other waits`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let feed = Self.feed(database.registry)
        let slow = feed.follow(scope, until: .now + .seconds(3600))
        var quick = feed.follow(scope, until: .now + .seconds(3600)).makeAsyncIterator()
        _ = try await quick.next()
        for number in 0..<30 {
            try await database.registry.registerSample("a-\(number)", token: number, minutesAgo: 1, in: scope)
            #expect(try await Self.isTold(&quick))
        }
        var count = 0
        await #expect(throws: ChangeFeed.FollowerLags.self) { for try await _ in slow { count += 1 } }
        #expect(count <= 16, "the queue must be bounded")
    }
}

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
                next: count == ActivityStream.pageSize ? Int64(count) : nil
            )
        )
    }

    /// A page that is not full is the last one. The next page fails without Postgres.
    @Test(arguments: [true, false]) func `Only a complete stream has its last line`(_ isComplete: Bool) async throws {
        let count = ActivityStream.pageSize - (isComplete ? 1 : 0)
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
