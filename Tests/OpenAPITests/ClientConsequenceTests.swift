import Foundation
import HTTPTypes
import PushTokenRegistryTestSupport
import RegistryCore
import TestSupport
import Testing

@testable import PushTokenRegistry
@testable import RegistryServer

/// Every problem that the service returns has one consequence in the iOS client, and the guide lists it.
@Suite struct ClientConsequenceTests {
    private typealias Code = RegistryCore.Problem.Code

    private static func responseClass(on code: Code) -> ResponseClass {
        let answer = Response(RegistryCore.Problem(code, "A sentence."), requestID: "r-1")
        var fields: [String: String] = [:]
        answer.forEachField { fields[$0.name.rawName] = $0.value }
        return ResponseClass(
            TransportResponse(status: answer.status.code, fields: fields, body: Data(answer.bytes)).result
        )
    }

    @Test(arguments: RegistryCore.Problem.Code.allCases)
    func `Every code has the consequence listed in the table`(code: RegistryCore.Problem.Code) throws {
        let answered = AnsweredReport(Self.responseClass(on: code), runs: true)
        #expect(answered.consequence == code.consequence, "\(answered.events), \(answered.next)")
        if case .refused(_, let problem) = Self.responseClass(on: code) {
            #expect(problem.code.rawValue == code.rawValue)
        }
    }

    @Test func `Any 410 drops the reports of an activity that ended here`() {
        for code in [Code.activityExpired, .activityEnded] {
            #expect(AnsweredReport(Self.responseClass(on: code), runs: false).consequence == .dropped)
        }
    }

    @Test func `The guide lists every code once, with its consequence`() throws {
        let file = ProjectFiles.root.appendingPathComponent("Sources/WebAssets/Documentation.docc/ErrorCodes.md")
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        for consequence in ClientConsequence.allCases {
            let row = try #require(rows.first { $0.hasSuffix(" | \(consequence.rawValue) |") }, "\(consequence)")
            let codes = row.prefix(row.count - consequence.rawValue.count).matches(of: #/`([a-z-]+)`/#).map {
                String($0.1)
            }
            let expected = Code.allCases.filter { $0.consequence == consequence }.map(\.rawValue)
            #expect(codes == expected, "\(consequence)")
        }
        #expect(rows.count == ClientConsequence.allCases.count)
    }
}

private struct AnsweredReport {
    let events: [LiveActivityRegistry.Event]
    let isKept: Bool
    let isObservedAgain: Bool
    let next: Outbox.Step

    init(_ responseClass: ResponseClass, runs: Bool) {
        var outbox = Outbox()
        let registration = PushTokenRegistry.ActivityRegistration(activityID: "a-1", token: PushToken([1]))
        let now = PushTokenRegistry.Timestamp(milliseconds: 1_790_000_000_000)
        let report = Report.registration(registration)
        _ = outbox.add(OutboxEntry(id: 1, report: report, observedAt: now, owner: .user("u-7")))
        let later = now + .seconds(1)
        events = outbox.settle(
            outbox.entries[0],
            responseClass,
            Outbox.Circumstances(authority: .user("u-7"), uptime: .zero, time: later, jitter: 1, runs: { _ in runs })
        )
        isKept = !outbox.entries.isEmpty
        isObservedAgain = outbox.entries.first?.observedAt == later
        next = outbox.upcoming(at: .zero)
    }

    /// The consequence that matches this record; nil if none does.
    var consequence: ClientConsequence? {
        switch (events.first, isKept, next) {
        case (.refused(_, _, _, isKept: false), false, .rest) where events.count == 1: .dropped
        case (.refused(_, _, _, isKept: true), true, .wait(until: .seconds(3600))) where events.count == 1:
            .keptForADay
        case (.refused(_, _, _, isKept: true), true, .wait(until: .seconds(1))) where events.count == 1:
            .waitsForCredential
        case (nil, true, .wait(until: .seconds(1))): .repeated
        case (nil, true, .send): isObservedAgain ? .observedAgain : .clockCorrected
        default: nil
        }
    }
}
