import RegistryCore
import RegistryStore

/// A call of a client, a sender or an admin, or a part of one. Numbers stand for names; times are minutes before the
/// call.
struct Call: Hashable, Sendable {
    enum Rule: String, CaseIterable, Sendable {
        case register, registerName, end, endName, endAlias
        case fullState, profile, putShared, putOwned, delete, logOut
        case feedback, release, releaseSlot, releaseAll, erase, purge, sweep
        case plan, releaseLease, channel
        /// An activity of a full state, and a report of feedback.
        case item, report
        /// Not a call: time passes.
        case pass
    }

    enum Status: Int, CaseIterable, Sendable {
        case delivered = 200
        case suspect = 400
        case dead = 410
        case failed = 500
    }

    /// In the order of the service, which breaks ties.
    enum Kind: String, CaseIterable, Comparable, Sendable {
        case device, start, update, widget

        static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    enum Slot: String, CaseIterable, Sendable {
        case delivery, match, device, widget

        var kind: Kind { Kind(rawValue: rawValue) ?? .start }
        /// Start tokens may repeat.
        var hasOneOwner: Bool { kind != .start }
        var rule: Rule { hasOneOwner ? .putOwned : .putShared }
    }

    let rule: Rule
    var activity = 0
    var token: Int?
    var alias = 0
    /// The aliases that a record gets.
    var aliases: [Int]?
    /// Nil is the time of receipt, or no time in a report; negative is the time of a fast clock.
    var ago: Int?
    var startedAgo: Int?
    var startsIn: Int?
    /// The attributes type of an activity.
    var type: Int?
    /// Of a profile.
    var metadata: String?
    var slot = Slot.delivery
    /// A client without a user has a publishable key; a caller who is no client is a backend.
    var isClient = false
    var user: Int?
    var installation: Int?
    var parts: [Call] = []
    var status = Status.delivered
    /// Whether a report names the last lease.
    var isOfLease = false
    var kind = Kind.update
    var reason = StaleReason.unconfirmed
    var lease = 0
    /// The time that passes, or without a confirmation after which a purge drops tokens.
    var minutes = 0

    var name: Int? { rule == .registerName ? alias : nil }
    /// With the name, unless it only is the default.
    var givenAliases: [Int]? { aliases.map { Set($0 + [name].compactMap(\.self)).sorted() } }
    var userOrAlias: CallModel.Name { user.map(CallModel.Name.user) ?? .alias(alias) }
}

extension Call: CustomStringConvertible {
    /// Like the source in the corpus: the fields that differ from those of the plainest call.
    var description: String {
        let fields = zip(Mirror(reflecting: self).children, Mirror(reflecting: Call(rule: rule)).children).dropFirst()
        let given = fields.filter { "\($0.value)" != "\($1.value)" }.map { "\($0.0.label ?? ""): \($0.0.value)" }
        return "Call(" + (["rule: .\(rule)"] + given).joined(separator: ", ") + ")"
    }
}

/// Few activities, tokens, installations, users and aliases, so that calls concern equal records.
enum Names {
    static let (activities, tokens, installations, users, aliases) = (4, 12, 2, 2, 3)
}
