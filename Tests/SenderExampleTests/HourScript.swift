import APNsStandIn
import Foundation
import TestSupport

/// A seeded script of phones and contents for an hour.
struct HourScript: Sendable {
    enum Event: Sendable {
        case install(String)
        case content(WantedContent)
        case rotate(String)
        case disconnect(String)
        case connect(String)
        case dismiss(String)
        case uninstall(String)
    }

    private(set) var events: [(minute: Double, event: Event)] = []
    private(set) var last: [String: WantedContent] = [:]

    let minutes: Double

    init(_ scale: HourScale, seed: UInt64 = 1) {
        minutes = scale.minutes
        var random = SeededGenerator(seed: seed)
        for number in 0..<scale.phones { live(number, &random) }
        for number in 0..<scale.phones { tell("order-\(number)", [number], ends: number % 3 == 0, &random) }
        // APNs stores one push per token for an offline phone, so it would lose one of two starts.
        let others = (0..<scale.phones).filter { $0 % 8 != Self.firstOffline }
        for match in 0..<(others.count / 10) {
            let phones = Array(others[match * 10..<match * 10 + 10])
            tell("match-\(match)", phones, ends: match % 4 == 0, &random)
        }
        events.sort { $0.minute < $1.minute }
    }

    /// The kind of phone that is offline at the first start.
    private static let firstOffline = 2

    private mutating func live(_ number: Int, _ random: inout SeededGenerator) {
        let phone = "phone-\(number)"
        switch number % 8 {
        case 5: return add(.random(in: minutes / 12...minutes * 2 / 3, using: &random), .install(phone))
        // The phone is added after all contents, so that only the change feed reports it.
        case 7: return add(minutes - .random(in: 1...2, using: &random), .install(phone))
        default: add(0, .install(phone))
        }
        switch number % 8 {
        case 1: for _ in 0..<3 { add(.random(in: minutes / 6...minutes - 5, using: &random), .rotate(phone)) }
        case Self.firstOffline:
            // The phone is offline at the first content, and once more later.
            add(0.5, .disconnect(phone))
            add(.random(in: 15...25, using: &random), .connect(phone))
            add(.random(in: 30...40, using: &random), .disconnect(phone))
            add(.random(in: 45...55, using: &random), .connect(phone))
        case 3: add(.random(in: minutes / 3...minutes * 5 / 6, using: &random), .dismiss(phone))
        // The token dies well before the last contents, so that a push to the dead token is certain.
        case 4: add(.random(in: minutes / 3...minutes / 2, using: &random), .uninstall(phone))
        case 6:
            let away = Double.random(in: 15...30, using: &random)
            add(away, .disconnect(phone))
            add(away + 10, .connect(phone))
            add(away + 10.1, .rotate(phone))
        default: break
        }
    }

    private mutating func tell(_ alias: String, _ phones: [Int], ends: Bool, _ random: inout SeededGenerator) {
        var time = Double.random(in: 1...10, using: &random)
        var number = 1
        while time < minutes - 3 {
            let isEnd = ends && time > minutes - 10
            let users = phones.map { "user-\($0)" }
            let content = WantedContent(alias: alias, users: users, number: number, isEnd: isEnd)
            add(time, .content(content))
            last[alias] = content
            if isEnd { return }
            number += 1
            time += .random(in: 3...8, using: &random)
        }
    }

    private mutating func add(_ minute: Double, _ event: Event) {
        if minute < minutes { events.append((minute, event)) }
    }
}

extension HourScript {
    func differences(_ model: APNsModel, _ phones: PlayedPhones) -> [String] {
        last.values.flatMap { content in
            content.users.compactMap { user in
                let phone = user.replacingOccurrences(of: "user", with: "phone")
                guard phones.isReachable(phone, content.alias) else { return nil }
                // The sender plans it again after its lease, which ends after the hour.
                if model.phones[phone]?.lostStarts.contains(content.alias) == true { return nil }
                let shown = model.phones[phone]?.activities.values.filter { $0.alias == content.alias } ?? []
                let isRight = shown.allSatisfy { $0.content == content.state && $0.isEnded == content.isEnd }
                // An activity that ended before the phone's installation is not started.
                if isRight, shown.count == 1 || content.isEnd && shown.isEmpty { return nil }
                return "\(phone) should show \(content.state) of \(content.alias), and has \(shown.map(\.content))"
            }
        }
    }
}

struct HourScale: Sendable {
    var phones = TestScale.isLong ? 1000 : 60
    /// Simulated seconds per real second.
    var speed = TestScale.isLong ? 20.0 : 100
    var minutes = 60.0
    /// A connection breaks before the response after this number of accepted pushes.
    var resetEvery: Int? = 97
    /// APNs closes a connection after this number of requests.
    var goAwayAfter: Int? = 150
    /// Real time for all phones to reach their final state.
    var deadline = Duration.seconds(120)

    /// Whether every response arrives.
    var isStable: Bool { resetEvery == nil && goAwayAfter == nil }

    /// A quarter of an hour, for the tests of senders that break a rule.
    static let short = HourScale(phones: 30, speed: 30, minutes: 15, resetEvery: 13, deadline: .seconds(10))

    /// Like `short`, with so many lost responses that some are of starts, which are a tenth of the pushes.
    static let shortAndUnsure = HourScale(phones: 30, speed: 30, minutes: 15, resetEvery: 4, deadline: .seconds(10))

    /// Like `short`, with stable connections.
    static let shortAndSure = HourScale(
        phones: 30,
        speed: 30,
        minutes: 15,
        resetEvery: nil,
        goAwayAfter: nil,
        deadline: .seconds(10)
    )
}

struct WantedContent: Sendable {
    let alias: String
    let users: [String]
    let number: Int
    let isEnd: Bool
    var state: String { #"{"number":\#(number)}"# }

    var line: String {
        let to = users.map { #"{"kind":"userId","value":"\#($0)"}"# }.joined(separator: ",")
        return """
            {"alias":{"kind":"liveactivityId","value":"\(alias)"},"to":[\(to)],"event":"\(isEnd ? "end" : "update")",\
            "contentState":\(state),"attributesType":"DeliveryAttributes","attributes":{"alias":"\(alias)"}}
            """
    }
}
