import Foundation
import RegistryCore

/// A push to one token: all of its request but the signature.
struct Push: Sendable {
    let token: PushToken
    /// The activity that runs; nil for a start.
    let activityID: ActivityID?
    let installation: InstallationHash?
    /// The right to start; nil for an activity that runs.
    let lease: StartLease?
    /// Without the JWT.
    let headers: [(name: String, value: String)]
    let payload: JSONValue

    /// The word that a plan has for it.
    var action: String { lease == nil ? "update" : "start" }
}

/// Makes the pushes of a run.
struct PushMaker: Sendable {
    let payloads: PushPayloads
    let priority: Int
    let now: Date
    let app: BundleID

    /// How long APNs keeps an update for a phone that is offline. Later it is no trial any more.
    private static let updateLifetime: TimeInterval = 3600

    /// A push to an activity that runs.
    func update(_ activity: ResolvedActivity) -> Push {
        Push(
            token: activity.token,
            activityID: activity.activityID,
            installation: activity.installation,
            lease: nil,
            headers: headers(.update, until: now.addingTimeInterval(Self.updateLifetime)),
            payload: payloads.running
        )
    }

    /// A push to a start token; nil when nothing is to be started.
    func start(_ token: PushToken, _ lease: StartLease, on installation: InstallationHash?) -> Push? {
        payloads.start.map { payload in
            Push(
                token: token,
                activityID: nil,
                installation: installation,
                lease: lease,
                // Later somebody else may have the lease, and a phone that was offline would show two.
                headers: headers(.start, until: lease.leasedUntil) + [("apns-collapse-id", lease.collapseID)],
                payload: payload
            )
        }
    }

    private func headers(_ kind: TokenKind, until expiry: Date) -> [(name: String, value: String)] {
        [
            ("apns-push-type", kind.pushType), ("apns-topic", kind.topic(of: app)), ("apns-priority", "\(priority)"),
            ("apns-expiration", "\(expiry.wholeSeconds)"), ("apns-id", UUID().uuidString.lowercased()),
        ]
    }
}
