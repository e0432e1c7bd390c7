import Foundation
import TestSupport

@testable import RegistryClient

/// The reports that the client for iOS apps can make: each kind, and each optional member there and not there.
enum ClientReports {
    private static let token = Token([0x9f, 0x86])
    static let all: [Report] =
        registrations(id: "a/1", token: token).map(Report.registration)
        + [.fullState([]), .fullState(registrations(id: "a", token: token) + registrations(id: "b", token: nil))]
        + [true, false].map { .end(activityID: "a", isDismissal: $0) }
        + [token, nil].map { .startToken(attributesType: "Delivery<Food>", $0) }
        + InstallationTokenKind.allCases.flatMap { kind in [token, nil].map { .installationToken(kind, $0) } }
        + [[:], ["userId": ["u-7"]]].map { .installation(aliases: $0) }
        + [.logOut]

    /// A registration for each choice of the optional members.
    private static func registrations(id: String, token: Token?) -> [RegistryClient.ActivityRegistration] {
        (0..<32).map { choice in
            var registration = RegistryClient.ActivityRegistration(activityID: UTF8Text("\(id)\(choice)"), token: token)
            if choice & 1 != 0 { registration.startedAt = Timestamp(Date.minutesAgo(2)) }
            if choice & 2 != 0 { registration.startsAt = Timestamp(Date.minutesAgo(-9)) }
            if choice & 4 != 0 { registration.attributesType = "Delivery" }
            if choice & 8 != 0 { registration.aliases = ["liveactivityId": ["order-42"], "team": ["a", "b"]] }
            if choice & 16 != 0 { registration.frequentPushesEnabled = choice & 1 != 0 }
            return registration
        }
    }

    /// The operation that a report is told by. A kind of report that is added must be decided on here, and belongs into ``all``.
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
