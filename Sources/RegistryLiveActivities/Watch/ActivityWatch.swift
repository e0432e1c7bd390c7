import Foundation
import RegistryClient

/// Watches a phone: subscribes to all that it says of the followed types, and tells what follows from it.
///
/// Each turn of the actor looks and tells without a pause in between, so that what is told is in the order in which it was seen.
package actor ActivityWatch: PhoneWatch {
    let phone: any Phone
    let clock: any ClientClock
    let outlet: Outlet
    private let subscriptions = Guarded(Subscriptions())

    var ledger = ActivityLedger()
    var startTokens = StartTokenLedger()
    var followed: [String: FollowedActivity] = [:]
    var isAboutToHandOver = false

    package init(phone: any Phone, clock: any ClientClock, outlet: Outlet) {
        (self.phone, self.clock, self.outlet) = (phone, clock, outlet)
    }

    /// The types that are followed, and since when.
    private struct Subscriptions: Sendable {
        var types: [FollowedType] = []
        /// By the monotonic clock; nil before the start.
        var latest: Duration?
    }

    nonisolated var types: [FollowedType] { subscriptions.withLock { $0.types } }

    nonisolated var rule: FullStateRule? { subscriptions.withLock { $0.latest }.map { FullStateRule(subscribed: $0) } }

    /// Follows one more type; a type that is followed already stays as it is.
    package nonisolated func follow(_ type: FollowedType) {
        let uptime = clock.now().uptime
        let (isNew, isStarted) = subscriptions.withLock { subscriptions in
            guard !subscriptions.types.contains(where: { $0.name == type.name }) else { return (false, false) }
            subscriptions.types.append(type)
            guard subscriptions.latest != nil else { return (true, false) }
            subscriptions.latest = uptime
            return (true, true)
        }
        if isNew, isStarted { subscribe(to: [type]) }
    }

    /// Begins to watch. It subscribes before it returns, and waits for nothing (C1).
    package nonisolated func start() {
        let uptime = clock.now().uptime
        let types = subscriptions.withLock { subscriptions -> [FollowedType]? in
            guard subscriptions.latest == nil else { return nil }
            subscriptions.latest = uptime
            return subscriptions.types
        }
        guard let types else { return }
        listen(to: phone.enablements()) { await $0.switched(on: $1) }
        listen(to: phone.moments()) { await $0.comes($1) }
        subscribe(to: types)
        confirmStartTokens()
    }

    package nonisolated func reportsGoOut() {
        Task { [weak self] in
            await self?.readStartTokens()
            await self?.reportsWentOut()
        }
    }

    /// The ids of all activities that the phone shows, or has scheduled.
    package nonisolated func runningActivities() -> [String] {
        types.flatMap { $0.activities().filter(\.phase.runs).map(\.id) }
    }
}

// MARK: - Subscribing

extension ActivityWatch {
    /// Streams before lists: what comes between the two is in both, and in neither never.
    private nonisolated func subscribe(to types: [FollowedType]) {
        for type in types {
            listen(to: type.newActivities()) { await $0.see([Sighting($1, of: type)]) }
            listen(to: type.startTokens()) { await $0.found($1, of: type) }
        }
        let sightings = types.flatMap { type in type.activities().map { Sighting($0, of: type) } }
        Task { [weak self] in
            await self?.see(sightings)
            await self?.readStartTokens()
        }
        lookAgain()
    }

    /// The list is read once ActivityKit has settled, and the start tokens a second later: they are late at times (C3, C7).
    private nonisolated func lookAgain() {
        guard let rule else { return }
        Task { [weak self, clock] in
            await clock.sleep(until: rule.earliest)
            await self?.tellAll()
            await clock.sleep(until: rule.earliest + .seconds(1))
            await self?.readStartTokens()
        }
    }

    private nonisolated func confirmStartTokens() {
        Task { [weak self, clock] in
            while let time = await self?.startTokens.nextConfirmation(after: clock.now().uptime) {
                await clock.sleep(until: time)
                await self?.readStartTokens()
            }
        }
    }

    /// Takes each element of a stream, in its order, as long as the watch is there.
    @discardableResult
    nonisolated func listen<Element: Sendable>(
        to stream: AsyncStream<Element>,
        _ take: @escaping @Sendable (ActivityWatch, Element) async -> Void
    ) -> Task<Void, Never> {
        Task { [weak self] in
            for await element in stream {
                guard let self, !Task.isCancelled else { return }
                await take(self, element)
            }
        }
    }
}
