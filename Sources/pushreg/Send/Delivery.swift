import Foundation
import RegistryCore
import RegistryStore

/// One run of `pushreg send`: the tokens of an alias, a push to each, one after the other, and a report of each answer.
struct Delivery {
    let registry: Registry
    let scope: Scope
    let alias: Alias
    let pushes: PushMaker
    /// Nil for a rehearsal.
    let connection: APNSConnection?
    let printer: PushPrinter
    private var (taken, refused, channel) = (0, 0, BroadcastChannel?.none)

    private static let pageSize = 1000
    private var isRehearsal: Bool { connection == nil }

    init(
        registry: Registry,
        scope: Scope,
        alias: Alias,
        pushes: PushMaker,
        connection: APNSConnection?,
        printer: PushPrinter
    ) {
        (self.registry, self.scope, self.alias) = (registry, scope, alias)
        (self.pushes, self.connection, self.printer) = (pushes, connection, printer)
    }

    /// Pushes to all that run or, by a plan, starts those that do not.
    ///
    /// - Throws: a ``CommandFailure`` when there was nothing to push to, APNs refused a push, or is not there.
    mutating func run(_ plan: PlanRequest?) async throws {
        if let plan { try await follow(plan) } else { try await update() }
        try await conclude()
    }

    private mutating func update() async throws {
        channel = try await registry.channel(of: alias, in: scope)
        var last = Int64(0)
        while true {
            let page = try await registry.activities(under: alias, after: last, limit: Self.pageSize, in: scope)
            for activity in page { try await deliver(pushes.update(activity)) }
            guard let end = page.last else { return }
            last = end.number
        }
    }

    private mutating func follow(_ plan: PlanRequest) async throws {
        var (request, position) = (plan, PlanPosition?.some(.start))
        request.limit = Self.pageSize
        while let start = position {
            let page = try await registry.plan(
                request,
                after: start,
                isRehearsal: isRehearsal,
                in: scope,
                by: Apps.who
            )
            channel = page.channels.first
            try await take(page.entries)
            position = page.next
        }
    }

    private mutating func take(_ entries: [PlanEntry]) async throws {
        for (index, entry) in entries.enumerated() {
            do {
                try await take(entry)
            } catch {
                // Nobody else could start these before their leases are over.
                for entry in entries[(index + 1)...] {
                    if case .start(_, let lease) = entry.step { try? await giveBack(lease) }
                }
                throw error
            }
        }
    }

    private mutating func take(_ entry: PlanEntry) async throws {
        switch entry.step {
        case .update(let activity): try await deliver(pushes.update(activity))
        case .start(let token, let lease):
            if let push = pushes.start(token, lease, on: entry.installation) { try await deliver(push) }
        case .wait, .alert, .none: try printer.skip(entry)
        }
    }

    /// Sends a push and reports what APNs answered.
    ///
    /// - Throws: a ``CommandFailure`` when no other push would fare better.
    private mutating func deliver(_ push: Push) async throws {
        do {
            try printer.announce(push)
        } catch {
            if let lease = push.lease { try? await giveBack(lease) }
            throw error
        }
        guard let connection else {
            taken += 1
            return try printer.conclude(push, nil, nil)
        }
        let outcome = try await connection.send(push)
        guard case .answered(let answer) = outcome else {
            try printer.conclude(push, outcome, nil)
            throw try await silence(outcome, push)
        }
        if answer.status == 200 { taken += 1 } else { refused += 1 }
        let feedback = await Result.reported { try await report(answer, to: push) }
        try printer.conclude(push, outcome, try? feedback.get())
        _ = try feedback.get()
        guard answer.isAboutSender else { return }
        throw CommandFailure(
            .failed,
            "APNs answered \(answer.words): that is about the key, the team, the topic or the request. Nothing else is sent."
        )
    }

    /// The failure of a push that was not answered; its lease is given back if APNs cannot have taken it.
    private func silence(_ outcome: PushOutcome, _ push: Push) async throws -> CommandFailure {
        guard case .unanswered(let reason, let mayHaveArrived) = outcome else { return CommandFailure(.failed, "") }
        var lease = ""
        if let kept = push.lease, mayHaveArrived {
            lease = " The push may have arrived, so its lease stays until \(RFC3339.format(kept.leasedUntil))."
        } else if let given = push.lease {
            try await giveBack(given)
        }
        return CommandFailure(.unavailable, "APNs at \(printer.address) is not available. \(reason)\(lease)")
    }

    private func giveBack(_ lease: StartLease) async throws {
        if !isRehearsal { try await registry.release(lease.id, in: scope, by: Apps.who) }
    }

    private func report(_ answer: APNSAnswer, to push: Push) async throws -> FeedbackResult? {
        var report = FeedbackReport(
            token: push.token,
            status: answer.status,
            reason: answer.reason,
            timestamp: answer.timestamp
        )
        // A key that is refused says nothing of the phone: three of them would keep the developer out for a day.
        if answer.isAboutSender, let lease = push.lease {
            try await giveBack(lease)
        } else {
            report.leaseID = push.lease?.id
        }
        return try await registry.apply([report], in: scope, by: Apps.who).results.first?.get()
    }

    private func conclude() async throws {
        if let channel {
            Output.errors.note(
                """
                \(alias) has the channel \(channel.id), which phones may follow without a token. Nothing is sent to channels \
                from here: that would reach all who follow it.
                """
            )
        }
        guard taken + refused > 0 else { throw try await nothing() }
        let count = taken + refused
        guard refused == 0 else { throw CommandFailure(.failed, "APNs refused \(refused) of \(count.pushes).") }
        Output.errors.note(isRehearsal ? "\(count.pushes), not sent." : "\(count.pushes), taken by APNs.")
    }

    /// The failure where there is nothing to push to.
    private func nothing() async throws -> CommandFailure {
        let other = Scope(app: scope.app, environment: scope.environment.other)
        let elsewhere = try await registry.activities(under: alias, limit: 1, in: other)
        let hint =
            elsewhere.isEmpty
            ? "pushreg audit explain says what is known of it." : "There is one in \(other.environment.rawValue)."
        return CommandFailure(
            .failed,
            "There is nothing to push to for \(alias) in \(scope.environment.rawValue). \(hint)"
        )
    }
}

extension Int {
    fileprivate var pushes: String { self == 1 ? "1 push" : "\(self) pushes" }
}

extension Result where Failure == any Error {
    /// The result of a report, so that the answer is printed before its failure.
    fileprivate static func reported(_ report: () async throws -> Success) async -> Result {
        do { return .success(try await report()) } catch { return .failure(error) }
    }
}
