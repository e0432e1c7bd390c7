import APNsStandIn
import Crypto
import Foundation
import RegistryCore
import TestSupport
import Testing

/// The examples keep the guide's promises in an hour simulated in a minute.
@Suite(.timeLimit(.minutes(TestScale.isLong ? 45 : 15))) struct HourTests {
    @Test(arguments: Example.allCases)
    func `An example shows the last content on every phone, once, and breaks no rule`(_ example: Example) async throws {
        try await example.prepare { command in
            let hour = try await PlayedHour.play(command)
            print(hour.figure(of: example))
            for fault in hour.faults { Issue.record("\(example.rawValue): \(fault)") }
            if !hour.faults.isEmpty { print(hour.log.suffix(3000)) }
        }
    }

    /// The limits of lines. Python needs the fewest, because one library does most of the work. Go needs the most,
    /// because its standard library has no JWTs.
    @Test(arguments: [94, 136, 318, 243].enumerated().map { ($0, $1) })
    func `An example and its comments are short`(_ index: Int, _ most: Int) throws {
        let example = Example.allCases[index]
        let lines = try example.source.split(separator: "\n").filter { $0.contains { !$0.isWhitespace } }
        #expect(lines.count <= most && lines.allSatisfy { $0.count <= 132 }, "\(example.rawValue): \(lines.count)")
    }
}

extension PlayedHour {
    private static let shortestLifeOfAJWT: TimeInterval = 40 * 60

    var faults: [String] {
        var faults = isShown ? [] : script.differences(model, phones)
        faults += duplicates.map { "\($0) was started twice" }
        let seen = model.providerTokens.seen
        if seen.count < 2, script.minutes > 50 { faults.append("no second JWT was seen in an hour") }
        for (one, other) in zip(seen, seen.dropFirst())
        where other.issuedAt.timeIntervalSince(one.issuedAt) < Self.shortestLifeOfAJWT {
            faults.append("a second JWT came after \(Int(other.issuedAt.timeIntervalSince(one.issuedAt) / 60)) minutes")
        }
        let fewest = Self.fewestReports(model, scale)
        if !(fewest...deadAnswers.count).contains(reported) {
            faults.append("of \(fewest) to \(deadAnswers.count) 410s \(reported) were reported")
        }
        faults += latePushes
        if !deliverable.isDisjoint(with: deadAnswers.map(\.token)) { faults.append("a dead token is deliverable") }
        return faults + lateStarts + wrongAnswers + timestampsThatStand
    }

    /// Pushes planned after the service had stored the token's death. A push's timestamp is the time of its plan, and
    /// may be slightly ahead of the clock. The send time depends on the machine's load.
    private var latePushes: [String] {
        model.records.compactMap { record -> String? in
            guard let timestamp = record.timestamp, let token = Hexadecimal.decode(record.token) else { return nil }
            guard let dropped = dropTimes[Hexadecimal.encode(Array(SHA256.hash(data: token).prefix(4)))] else {
                return nil
            }
            let seconds = (Double(timestamp) - clock.shown(at: dropped).timeIntervalSince1970) / clock.speed
            return seconds > 10 ? "a push was planned \(Int(seconds)) s after its token was dropped" : nil
        }
    }

    func hasFault(_ text: String) -> Bool { faults.contains { $0.contains(text) } }
    var deadAnswers: [APNsModel.Record] { Self.deadAnswers(model) }

    static func deadAnswers(_ model: APNsModel) -> [APNsModel.Record] {
        model.records.filter { $0.answer.status == 410 }
    }

    /// A 410 that is lost with its connection need not be reported, because the push is sent again. Python's httpx
    /// loses all responses that arrive after GOAWAY.
    static func fewestReports(_ model: APNsModel, _ scale: HourScale) -> Int {
        scale.isStable ? Set(deadAnswers(model).map { $0.fields["apns-id"] }).count : 0
    }

    private var duplicates: [String] {
        Dictionary(grouping: phones.started) { "\($0.alias) on \($0.phone)" }.filter { $1.count > 1 }.keys.sorted()
    }

    /// Starts that APNs may keep beyond their leases. A lease lasts an hour of the registry's clock and begins some
    /// seconds before the push.
    private var lateStarts: [String] {
        model.records.filter { $0.event == "start" }.compactMap { record in
            let expiration = record.fields["apns-expiration"].flatMap { Double($0) } ?? .infinity
            let latest = record.at.timeIntervalSince1970 + 3600 * clock.speed
            return expiration > latest ? "a start push expires \(Int(expiration - latest)) s after its lease" : nil
        }
    }

    private var wrongAnswers: [String] {
        let usual: Set<Int> = [200, 410, 429, 503]
        return model.records.filter {
            !usual.contains($0.answer.status) || $0.answer.reason?.contains("Provider") == true
        }
        .map { "APNs answered \($0.answer.status) \($0.answer.reason ?? "")" }
    }

    /// Pushes with the same timestamp as the token's previous push, except repetitions. A repetition on a new
    /// connection may arrive after the next push, and the phone drops it.
    private var timestampsThatStand: [String] {
        let updates = model.records.filter { $0.event == "update" }
        return Dictionary(grouping: updates, by: \.token).values.flatMap { pushes in
            zip(pushes, pushes.dropFirst()).compactMap { one, other in
                guard one.fields["apns-id"] != other.fields["apns-id"] else { return nil }
                return other.timestamp == one.timestamp ? "a timestamp stood still" : nil
            }
        }
    }

    func figure(of example: Example) -> String {
        let taken = model.records.filter { $0.answer.status == 200 }.count
        return
            "figure: \(example.rawValue): \(model.phones.count) phones, \(model.records.count) pushes, \(taken) taken, "
            + "\(phones.started.count) starts, \(model.providerTokens.seen.count) JWTs, \(deadAnswers.count) 410s, "
            + "\(reported) reported, \(duplicates.count) duplicates, \(connections) connections"
    }
}
