import Foundation
import TestSupport

@testable import PushTokenRegistry

/// The reports that the iOS client can make: each kind, with and without each optional member.
enum ClientReports {
    private static let token = PushToken([0x9f, 0x86])
    static let all: [Report] = {
        var reports = registrations(id: "a/1", token: token).map(Report.registration)
        reports += [.fullState([]), .fullState(registrations(id: "b", token: nil)), .logOut]
        reports += [true, false].map { .end(activityID: "a", isDismissal: $0) }
        for token in [token, nil] {
            reports.append(.startToken(attributesType: "Delivery<Food>", token))
            reports += InstallationTokenKind.allCases.map { .installationToken($0, token) }
        }
        for aliases in [[:], ["userId": ["u-7"]], nil] as [[String: [String]]?] {
            reports.append(.installation(aliases: aliases, metadata: aliases == nil ? ["osVersion": "26.1"] : nil))
        }
        return reports
    }()

    private static func registrations(id: String, token: PushToken?) -> [PushTokenRegistry.ActivityRegistration] {
        (0..<32).map { choice in
            var registration = PushTokenRegistry.ActivityRegistration(activityID: "\(id)\(choice)", token: token)
            if choice & 1 != 0 { registration.startedAt = Timestamp(Date.minutesAgo(2)) }
            if choice & 2 != 0 { registration.startsAt = Timestamp(Date.minutesAgo(-9)) }
            if choice & 4 != 0 { registration.attributesType = "Delivery" }
            if choice & 8 != 0 { registration.aliases = ["liveactivityId": ["order-42"], "team": ["a", "b"]] }
            if choice & 16 != 0 { registration.frequentPushesEnabled = choice & 1 != 0 }
            if choice & 6 == 6 { registration.pushType = choice & 1 != 0 ? .channel : FollowedPushType.none }
            return registration
        }
    }

    /// The operation that sends a report. A new kind of report needs a decision here and an entry in ``all``.
    static func operation(of report: Report) -> String {
        switch report {
        case .registration: "registerActivity"
        case .end: "endActivity"
        case .startToken(_, let token): token == nil ? "deleteStartToken" : "putStartToken"
        case .installationToken(_, let token): token == nil ? "deleteTokenOfKind" : "putTokenOfKind"
        case .installation: "putInstallation"
        case .fullState: "putFullState"
        case .logOut: "logOutInstallation"
        }
    }
}
