import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import RegistryCore
import Testing

/// A sender's cache over HTTP: it follows the change feed, resolves the changed aliases, and resumes from its last
/// bookmark.
actor ChangeFollower {
    /// The forms of the feed: pages with a wait, NDJSON and server-sent events.
    enum Form: CaseIterable {
        case pages, lines, events
    }

    static let aliases = (0..<4).map { "order-\($0)" }
    private let place: FaultPlace
    private var after: String
    private var entries: [String: Set<String>] = [:]
    private var named: Set<String> = []
    private var told: Set<String> = []
    private var toldLast: Set<String> = []
    private(set) var refusals: [String] = []
    private(set) var connections = 0
    private(set) var changes = 0

    init(at place: FaultPlace) async throws {
        self.place = place
        let answer = try await place.followed.call("GET", "\(ServiceProcess.app)/changes")
        after = try #require(try JSONParser.parse(answer.body)["after"]?.string, "\(answer.body)")
        for alias in Self.aliases { entries[alias] = try await Self.resolve(alias, at: place) }
    }

    /// Whether a change of the activity arrived and the cache includes all changes up to it.
    func wasTold(of activity: String) -> Bool { told.contains(activity) }

    func differences() async throws -> [String] {
        var found: [String] = []
        for (alias, entry) in entries {
            let resolved = try await Self.resolve(alias, at: place)
            if resolved != entry { found.append("\(alias) has \(entry.sorted()), not \(resolved.sorted())") }
        }
        return found
    }

    /// Follows until its task is cancelled, and resumes from the last bookmark after any error.
    func follow(as form: Form) async throws {
        while !Task.isCancelled {
            connections += 1
            do {
                if form == .pages { try await readPage() } else { try await readStream(form) }
            } catch {
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private func readPage() async throws {
        let path = "\(ServiceProcess.app)/changes?wait=5&limit=7&after=\(after)"
        let answer = try await place.followed.call("GET", path)
        let page = try JSONParser.parse(answer.body)
        guard answer.status == 200 else { return note(refusal: page) }
        if case .array(let changes)? = page["changes"] { for change in changes { note(change: change) } }
        try await note(bookmark: page)
    }

    private func readStream(_ form: Form) async throws {
        let port = await place.followed.port
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(ServiceProcess.app)/changes")
        if form == .lines {
            request.url += "?after=\(after)"
            request.headers.add(name: "Accept", value: "application/x-ndjson")
        } else {
            request.headers.add(name: "Accept", value: "text/event-stream")
            request.headers.add(name: "Last-Event-ID", value: after)
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .minutes(5))
        var rest: [UInt8] = []
        for try await chunk in response.body {
            rest += chunk.readableBytesView
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                try await read(line: String(decoding: rest[..<end], as: UTF8.self))
                rest.removeFirst(end + 1)
            }
        }
        // A refusal's body does not end with a newline.
        if let problem = try? JSONParser.parse(rest) { note(refusal: problem) }
    }

    private func read(line: String) async throws {
        let text = line.hasPrefix("data: ") ? String(line.dropFirst(6)) : line
        guard text.hasPrefix("{") else { return }
        let value = try JSONParser.parse(text)
        if value["after"] != nil { try await note(bookmark: value) } else { note(change: value) }
    }

    private func note(change: JSONValue) {
        if let problem = change["problem"] { return note(refusal: problem) }
        changes += 1
        if case .string(let activity)? = change["activityId"] {
            toldLast.insert(activity)
            named.formUnion(entries.filter { $0.value.contains { $0.hasPrefix("\(activity) ") } }.keys)
        }
        if case .array(let values)? = change["aliases"]?["testId"] {
            for case .string(let alias) in values where entries[alias] != nil { named.insert(alias) }
        }
    }

    /// Resolves all named aliases first, so a crash before the bookmark is stored repeats the changes.
    private func note(bookmark: JSONValue) async throws {
        for alias in named { entries[alias] = try await Self.resolve(alias, at: place) }
        named = []
        told.formUnion(toldLast)
        toldLast = []
        if case .string(let next)? = bookmark["after"] { after = next }
    }

    private func note(refusal: JSONValue) {
        if case .string(let code)? = refusal["code"], code.hasPrefix("feed-") { refusals.append(code) }
    }

    private static func resolve(_ alias: String, at place: FaultPlace) async throws -> Set<String> {
        let path = "\(ServiceProcess.app)/aliases/testId/\(alias)/activities?limit=1000"
        let answer = try await place.followed.call("GET", path)
        guard answer.status == 200, case .array(let found)? = try JSONParser.parse(answer.body)["activities"] else {
            throw ServiceFault(detail: answer.body)
        }
        return Set(found.map { "\($0["activityId"]?.string ?? "no id") \($0["token"]?.string ?? "no token")" })
    }
}
