// Shows the latest content of each alias on every phone. The guide For senders describes its input and settings.
import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

struct Alias: Codable, Hashable {
    let kind, value: String
}
/// A plan, changes, or APNs's reason for a refusal.
struct Answer: Decodable {
    final class Entry: Decodable, Sendable {
        let action, token, leaseId, leasedUntil, collapseId, activityId, expiresAt, retryAt: String?
        let replaces: Entry?  // without an action: it is updated until the new activity has a token
    }
    struct Change: Decodable { let aliases: [String: [String]]? }
    let topic, pushType, nextCursor, after, reason, detail: String?
    let timestamp: Int?
    let installations: [Entry]?
    let changes: [Change]?
}
struct Report: Encodable {
    let token: String, status: Int, reason: String?, timestamp: Int?, leaseId: String?
}
/// One alias: the current content, and the tokens that have it.
final class Work {
    var wanted: [String: Any] = [:], names: Set<Alias> = [], given: Set<String> = []
    var version = UUID(), stamp = 0, isDue = true, pause: Task<Void, any Error>?
    func wake() {
        isDue = true
        pause?.cancel()
    }
}

@main actor Sender {
    let settings = ProcessInfo.processInfo.environment
    let http: HTTPClient
    var works: [Alias: Work] = [:], answers: [Report] = [], isTelling = false
    var bearer = "", issued = -Double.infinity
    var plans = 0, waiting: [CheckedContinuation<Void, Never>] = []
    // For tests, which play an hour in a minute. The registry's clock stays the real one.
    var speed: Double { settings["CLOCK_SPEED"].flatMap(Double.init) ?? 1 }
    var start: Double { settings["CLOCK_START"].flatMap(Double.init) ?? 0 }

    init() {
        var configuration = HTTPClient.Configuration()  // One HTTP/2 connection to APNs, replaced after GOAWAY.
        var tls = TLSConfiguration.makeClientConfiguration()
        if let file = settings["SSL_CERT_FILE"] { tls.trustRoots = .file(file) }
        configuration.tlsConfiguration = tls
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 100  // to the registry
        // TCP_USER_TIMEOUT: Linux closes a connection if the peer has acknowledged nothing for 20 seconds. Otherwise, a
        // dead one is used again. Other systems refuse the option.
        configuration.http2ConnectionDebugInitializer = {
            $0.setOption(.tcpOption(.init(rawValue: 18)), value: 20_000).recover { _ in }
        }
        http = HTTPClient(configuration: configuration)
    }

    func clock(_ moment: String? = nil) throws -> Double {
        let real = try moment.map(Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse) ?? Date()
        return start + (real.timeIntervalSince1970 - start) * speed
    }

    /// One JWT for all pushes, for 45 minutes: APNs refuses a new one within 20 minutes, and one older than an hour.
    func authorization() throws -> String {
        guard try clock() - issued > 45 * 60 else { return bearer }
        issued = try clock()
        let key = try P256.Signing.PrivateKey(
            pemRepresentation: String(contentsOfFile: setting("APNS_KEY"), encoding: .utf8)
        )
        let parts = [
            "{\"alg\":\"ES256\",\"kid\":\"\(setting("APNS_KEY_ID"))\"}",
            "{\"iss\":\"\(setting("APNS_TEAM_ID"))\",\"iat\":\(Int(issued))}",
        ]
        let text = parts.map { encode(Data($0.utf8)) }.joined(separator: ".")
        bearer = "bearer " + text + "." + encode(try key.signature(for: Data(text.utf8)).rawRepresentation)
        return bearer
    }
    func encode(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    func setting(_ name: String) -> String { settings[name] ?? "" }

    /// Without an answer and after 408, 429 and 5xx, it repeats the request with growing pauses while `isWanted`.
    func send(_ request: HTTPClientRequest, toAPNs: Bool, while isWanted: () throws -> Bool) async throws -> (
        Int, Answer
    )? {
        var (request, turn) = (request, 1.0)
        let isPlan = request.url.hasSuffix("/plan")  // The registry permits four heavy calls. The fourth is a report.
        while try isWanted() {
            if toAPNs { request.headers.replaceOrAdd(name: "authorization", value: try authorization()) }
            if isPlan { plans += 1 }
            if isPlan, plans > 3 { await withCheckedContinuation { waiting.append($0) } }
            let answer = try? await http.execute(request, timeout: toAPNs ? .seconds(20) : .seconds(60))
            let body = try? await answer?.body.collect(upTo: 10 << 20)
            if isPlan { plans -= 1 }
            if isPlan, !waiting.isEmpty { waiting.removeFirst().resume() }
            if let answer, let body, answer.status.code < 500, ![408, 429].contains(answer.status.code) {
                let text = body.readableBytes == 0 ? Data("{}".utf8) : Data(body.readableBytesView)
                return (Int(answer.status.code), try JSONDecoder().decode(Answer.self, from: text))
            }
            let told = answer?.headers.first(name: "Retry-After").flatMap(Double.init) ?? 0
            try await Task.sleep(for: .seconds(max(told, .random(in: 0.5...1) * min(pow(2, turn), 60)) / speed))
            turn += 1
        }
        return nil
    }

    func call(_ method: HTTPMethod, _ path: String, _ body: Data? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: "\(setting("REGISTRY"))/\(path)")
        request.method = method
        request.headers = ["Authorization": "Bearer \(setting("SENDER_KEY"))", "Content-Type": "application/json"]
        request.body = body.map { .bytes($0) }
        guard let (status, answer) = try await send(request, toAPNs: false, while: { true }) else { fatalError() }
        guard [200, 204, 410].contains(status) else { fatalError(answer.detail ?? path) }
        return answer
    }

    /// Reports each answer at once, together with those that arrive during the previous report.
    func report(_ answer: Report) async throws {
        answers.append(answer)
        guard !isTelling else { return }
        isTelling = true
        while !answers.isEmpty {
            let reports = Array(answers.prefix(1000))
            answers.removeFirst(reports.count)
            _ = try await call(.POST, "feedback", JSONEncoder().encode(["reports": reports]))
        }
        isTelling = false
    }

    /// Pushes to one phone, until APNs answers or newer content exists.
    func push(_ entry: Answer.Entry, _ plan: Answer, _ body: Data, _ event: String, _ work: Alias, _ version: UUID)
        async throws
    {
        let token = entry.token ?? "", isStart = entry.leaseId != nil
        // A phone that is offline gets it later. A start after its lease could be a second activity.
        let until = try clock(isStart ? entry.leasedUntil : entry.expiresAt)
        var request = HTTPClientRequest(url: "\(setting("APNS"))/3/device/\(token)")
        request.method = .POST
        request.headers = [
            "apns-topic": plan.topic ?? "", "apns-push-type": plan.pushType ?? "", "apns-expiration": "\(Int(until))",
            "apns-id": UUID().uuidString, "apns-priority": event == "update" ? "5" : "10",
        ]
        if let id = entry.collapseId { request.headers.add(name: "apns-collapse-id", value: id) }
        request.body = .bytes(body)
        let isWanted = {
            let newest = self.works[work], isEnd = newest?.wanted["event"] as? String == "end"
            return try self.clock() < until && (newest?.version ?? version == version || isStart && !isEnd)
        }
        guard let (status, said) = try await send(request, toAPNs: true, while: isWanted) else { return }
        let (reason, timestamp) = (said.reason, said.timestamp)
        let answer = Report(token: token, status: status, reason: reason, timestamp: timestamp, leaseId: entry.leaseId)
        try await report(answer)
        guard entry.action == "end", let id = entry.activityId else { return }
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        _ = try await call(.DELETE, "activities/\(name)")
    }

    /// Pushes an alias's content to the phones that do not have it, whenever something changes.
    func keep(_ alias: Alias) async throws {
        guard let work = works[alias] else { return }
        while true {
            // A timestamp is never ahead of the clock.
            try await Task.sleep(for: .seconds(max(0, Double(work.stamp + 1) - clock()) / speed))
            work.isDue = false
            let (wanted, version, planID) = (work.wanted, work.version, UUID().uuidString)
            var (again, cursor) = (Double.infinity, String?.none)
            work.stamp = max(Int(try clock()), work.stamp + 1)  // whole seconds, each greater than the last
            let event = wanted["event"] as? String ?? "update"
            let update: [String: Any] = [
                "timestamp": work.stamp, "event": event, "content-state": wanted["contentState"] ?? [:],
            ]
            let start = update.merging([
                "event": "start", "attributes-type": wanted["attributesType"] ?? "",
                "attributes": wanted["attributes"] ?? [:],
                "alert": ["title": alias.value],
            ]) { $1 }
            let end = update.merging(["event": "end", "dismissal-date": work.stamp]) { $1 }  // of a replaced activity
            let bodies = try [update, start, end].map { try JSONSerialization.data(withJSONObject: ["aps": $0]) }
            repeat {
                let body: [String: Any?] = [
                    "alias": wanted["alias"], "to": event == "end" ? nil : wanted["to"],
                    "attributesType": wanted["attributesType"], "planId": planID, "cursor": cursor,
                    "renewBefore": event == "end" ? nil : settings["RENEW_BEFORE"],
                ]
                let plan = try await call(
                    .POST,
                    "plan",
                    JSONSerialization.data(withJSONObject: body.compactMapValues { $0 })
                )
                let entries = plan.installations ?? []
                for entry in entries + entries.compactMap(\.replaces) {
                    if let time = entry.retryAt { again = min(again, try clock(time)) }
                    let action = entry.action ?? "update", key = action + (entry.token ?? "")
                    switch action {
                    // An end starts no activity: its lease is returned.
                    case "start" where event == "end": _ = try await call(.DELETE, "plan/leases/\(entry.leaseId ?? "")")
                    case "start", "renew": run { try await $0.push(entry, plan, bodies[1], "start", alias, version) }
                    case "update" where work.version == version && work.given.insert(key).inserted:
                        run { try await $0.push(entry, plan, bodies[0], event, alias, version) }
                    case "end" where work.version == version && work.given.insert(key).inserted:
                        run { try await $0.push(entry, plan, bodies[2], action, alias, version) }
                    default: break  // none with channel: only a push to the plan's channels reaches it
                    }
                }
                cursor = plan.nextCursor
            } while cursor != nil
            guard !work.isDue else { continue }
            let seconds = min(3600, max(1, again - (try clock()))) / speed
            work.pause = Task { try await Task.sleep(for: .seconds(seconds)) }
            try? await work.pause?.value
            // An hour without a change. New content makes a new entry.
            if event == "end", again == .infinity, !work.isDue { return works[alias] = nil }
        }
    }

    /// Wakes the aliases that a change names, because of a new token.
    func follow(_ position: String) async throws {
        var after = position
        while true {
            let page = try await call(.GET, "changes?after=\(after)&wait=30")
            // Starts again after feed-expired and feed-reset.
            after = if let next = page.after { next } else { try await call(.GET, "changes").after ?? "" }
            let named = (page.changes ?? []).flatMap { change in
                (change.aliases ?? [:]).flatMap { kind, values in values.map { Alias(kind: kind, value: $0) } }
            }
            for work in works.values where page.after == nil || !work.names.isDisjoint(with: named) { work.wake() }
        }
    }

    func run(_ body: @escaping @Sendable (Sender) async throws -> Void) {
        Task { do { try await body(self) } catch { fatalError("\(error)") } }
    }

    func take(_ line: String) throws {
        guard let wanted = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else { return }
        struct Names: Decodable { let alias: Alias, to: [Alias] }
        let names = try JSONDecoder().decode(Names.self, from: Data(line.utf8))
        let known = works[names.alias], work = known ?? Work()
        (work.wanted, work.names, work.given) = (wanted, Set(names.to + [names.alias]), [])
        work.version = UUID()
        works[names.alias] = work
        known == nil ? run { try await $0.keep(names.alias) } : work.wake()
    }

    static func main() async throws {
        let sender = Sender()
        let after = try await sender.call(.GET, "changes").after ?? ""  // the position before the first plan
        await sender.run { try await $0.follow(after) }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread { while let line = readLine() { continuation.yield(line) } }
        for await line in lines { try await sender.take(line) }
    }
}
