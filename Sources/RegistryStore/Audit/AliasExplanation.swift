import Foundation
import RegistryCore

/// The activities and tokens of an alias, each with the reason why it is deliverable or not. Tokens appear as
/// fingerprints.
package struct AliasExplanation: Sendable, Hashable {
    package struct Activity: Sendable, Hashable {
        /// Internal. Orders pages.
        package let key: Int64
        /// Closed by a sweep or an end. Pages list closed activities last.
        package let isClosed: Bool
        package let activityID: ActivityID
        package let state: ActivityState
        package var facts: TokenFacts
        package let fingerprint: [UInt8]?
        package let installation: InstallationHash?
        package let attributesType: UTF8Text?
        package let startedAt: Date
        package let startsAt: Date?
        /// The device's clock at the observation of the token, or of the activity if it has no token. Nil if only an
        /// end is known.
        package let observedAt: Date?
        package let confirmedAt: Date?
        package let expiresAt: Date
        /// The last push that APNs accepted.
        package let deliveredAt: Date?

        /// Closed activities follow the others.
        package var position: ListPosition { ListPosition(part: isClosed ? 1 : 0, number: key) }
    }

    package struct Token: Sendable, Hashable {
        package let kind: String
        package let installation: InstallationHash
        package let attributesType: UTF8Text?
        package let facts: TokenFacts
        /// Nil, like the times, if only a deletion is known.
        package let fingerprint: [UInt8]?
        package let observedAt: Date?
        package let confirmedAt: Date?
        package let isDeleted: Bool
    }

    package enum Note: Sendable, Hashable {
        /// All earlier data was erased.
        case erased(Date)
        case unknown
        /// Used only in the other environment.
        case knownElsewhere(APNSEnvironment)
        /// Unknown, but a value that differs only in letter case is known.
        case otherCase(UTF8Text)
    }

    package let alias: Alias
    /// Only on the first page.
    package var notes: [Note] = []
    package var activities: [Activity] = []
    /// Only of the first installations with the alias.
    package var tokens: [Token] = []
    /// Only of the first installations, and only on the first page.
    package var leases: [ExplainedLease] = []
}

extension AliasExplanation.Note: JSONObjectEncodable {
    package var code: String {
        switch self {
        case .erased: "erased"
        case .unknown: "unknown"
        case .knownElsewhere: "other-environment"
        case .otherCase: "other-case"
        }
    }

    package var sentence: String {
        switch self {
        case .erased(let time):
            "All data about the alias until \(RFC3339.format(time)) was erased and is not stored again."
        case .unknown:
            "No record has the alias in this app and environment, or the retention of its activities is over."
        case .knownElsewhere(let environment):
            "No record has the alias here, but a record in \(environment.rawValue) has it. Check the environment."
        case .otherCase(let value):
            "No record has the alias, but a record has \(value). Aliases are case-sensitive: use the same case everywhere."
        }
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("code", code)
        json.member("detail", sentence)
    }
}

extension JSONWriter {
    fileprivate mutating func facts(_ facts: TokenFacts, _ fingerprint: [UInt8]?) {
        member("handedOut", facts.availability == .handedOut)
        member("reason", facts.availability.rawValue)
        member("detail", facts.sentence)
        hex("fingerprint", ifPresent: fingerprint)
    }
}

extension AliasExplanation.Activity: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("activityId", activityID.rawValue)
        json.member("state", state.rawValue)
        json.facts(facts, fingerprint)
        json.hex("installation", ifPresent: installation?.bytes)
        json.member("attributesType", ifPresent: attributesType)
        json.member("startedAt", startedAt)
        json.member("startsAt", ifPresent: startsAt)
        json.member("observedAt", ifPresent: observedAt)
        json.member("confirmedAt", ifPresent: confirmedAt)
        json.member("expiresAt", expiresAt)
        json.member("deliveredAt", ifPresent: deliveredAt)
    }
}

extension AliasExplanation.Token: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("kind", kind)
        json.hex("installation", installation.bytes)
        json.member("attributesType", ifPresent: attributesType)
        json.facts(facts, fingerprint)
        json.member("observedAt", ifPresent: observedAt)
        json.member("confirmedAt", ifPresent: confirmedAt)
    }
}
