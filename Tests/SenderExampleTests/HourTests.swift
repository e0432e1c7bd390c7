import APNsStandIn
import Crypto
import Foundation
import RegistryCore
import TestSupport
import Testing

/// The examples of senders keep what the guide promises of them, in an hour that is played in a minute.
@Suite(.timeLimit(.minutes(TestScale.isLong ? 45 : 15))) struct HourTests {
    @Test(arguments: Example.allCases)
    func `An example shows the last content everywhere, once, by all rules`(_ example: Example) async throws {
        let directory = "/tmp/pushreg-hour-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        guard let command = try await example.command(in: directory) else {
            print("left out \(example.rawValue): what it runs on is not to be had here")
            return
        }
        let hour = try await PlayedHour.play(command, in: directory)
        print(hour.figure(of: example))
        for fault in hour.faults { Issue.record("\(example.rawValue): \(fault)") }
        if !hour.faults.isEmpty { print(hour.log.suffix(3000)) }
    }

    /// Python says most of it in one library; Go has neither JWTs nor values without types.
    @Test(arguments: [82, 120, 265, 219].enumerated().map { ($0, $1) })
    func `An example and its comments are short`(_ index: Int, _ most: Int) throws {
        let example = Example.allCases[index]
        let lines = try example.source.split(separator: "\n").filter { $0.contains { !$0.isWhitespace } }
        #expect(lines.count <= most && lines.allSatisfy { $0.count <= 132 }, "\(example.rawValue): \(lines.count)")
    }
}

extension PlayedHour {
    private static let shortestLifeOfAJWT: TimeInterval = 40 * 60

    /// Sentences about each rule that was broken.
    var faults: [String] {
        var faults = isShown ? [] : script.differences(model, phones)
        faults += duplicates.map { "\($0) was started twice" }
        let seen = model.providerTokens.seen
        if seen.count < 2, script.minutes > 50 { faults.append("no second JWT was seen in an hour") }
        for (one, other) in zip(seen, seen.dropFirst())
        where other.issuedAt.timeIntervalSince(one.issuedAt) < Self.shortestLifeOfAJWT {
            faults.append("a second JWT came after \(Int(other.issuedAt.timeIntervalSince(one.issuedAt) / 60)) minutes")
        }
        // An answer that may not have come is one that need not be reported; after none the same push goes out again.
        let all = model.records.filter { $0.answer.status == 410 }.count
        if !(deadPushes...all).contains(reported) {
            faults.append("of \(deadPushes) to \(all) 410s \(reported) were reported")
        }
        faults += latePushes
        if !handedOut.isDisjoint(with: deadAnswers.map(\.token)) { faults.append("a dead token is handed out") }
        return faults + lateStarts + wrongAnswers + timestampsThatStand
    }

    /// Pushes that were planned after the service had stored that their token is dead. A push's timestamp says when its plan was
    /// asked for, and may run ahead of the clock a little. The time of the push itself depends on how busy the machine is.
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

    /// The 410s that surely reached the sender.
    var deadAnswers: [APNsModel.Record] { Self.deadAnswers(model) }

    static func deadAnswers(_ model: APNsModel) -> [APNsModel.Record] {
        model.records.filter { $0.answer.status == 410 && $0.isDelivered }
    }

    /// The pushes whose 410 surely reached the sender.
    var deadPushes: Int { Self.deadPushes(model) }

    static func deadPushes(_ model: APNsModel) -> Int { Set(deadAnswers(model).map { $0.fields["apns-id"] }).count }

    /// The activities that were started twice on one phone.
    private var duplicates: [String] {
        Dictionary(grouping: phones.started) { "\($0.alias) on \($0.phone)" }.filter { $1.count > 1 }.keys.sorted()
    }

    /// Starts that APNs may keep beyond their leases, which last an hour of the registry's clock from some seconds before.
    private var lateStarts: [String] {
        model.records.filter { $0.event == "start" }.compactMap { record in
            let expiration = record.fields["apns-expiration"].flatMap { Double($0) } ?? .infinity
            let latest = record.at.timeIntervalSince1970 + 3600 * clock.speed
            return expiration > latest ? "a start push expires \(Int(expiration - latest)) s after its lease" : nil
        }
    }

    /// Answers that say that the sender is at fault.
    private var wrongAnswers: [String] {
        let usual: Set<Int> = [200, 410, 429, 503]
        return model.records.filter {
            !usual.contains($0.answer.status) || $0.answer.reason?.contains("Provider") == true
        }
        .map { "APNs answered \($0.answer.status) \($0.answer.reason ?? "")" }
    }

    /// Pushes to one token with the timestamp of the one before, except the same push again. One that is sent again on a new
    /// connection may come after the next one; a phone drops it.
    private var timestampsThatStand: [String] {
        let updates = model.records.filter { $0.event == "update" }
        return Dictionary(grouping: updates, by: \.token).values.flatMap { pushes in
            zip(pushes, pushes.dropFirst()).compactMap { one, other in
                guard one.fields["apns-id"] != other.fields["apns-id"] else { return nil }
                return other.timestamp == one.timestamp ? "a timestamp stood still" : nil
            }
        }
    }

    /// A line for the table of figures.
    func figure(of example: Example) -> String {
        let taken = model.records.filter { $0.answer.status == 200 }.count
        return
            "figure: \(example.rawValue): \(model.phones.count) phones, \(model.records.count) pushes, \(taken) taken, "
            + "\(phones.started.count) starts, \(model.providerTokens.seen.count) JWTs, \(deadAnswers.count) 410s, "
            + "\(reported) reported, \(duplicates.count) duplicates, \(connections) connections"
    }
}
