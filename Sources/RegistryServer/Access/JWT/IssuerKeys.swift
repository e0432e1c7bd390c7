import Foundation
import Logging
import RegistryCore
import Synchronization

/// A cache of issuers' keys.
///
/// - A set is fetched for an unknown key, and if it is older than `maximumAge`.
/// - Each app has at most one fetch per `fetchInterval`, and one at a time.
/// - If fetches fail, the known keys stay valid.
final class IssuerKeys: Sendable {
    /// Also applies after failures.
    static let fetchInterval = Duration.seconds(60)
    /// Limits the use of a withdrawn key.
    static let maximumAge = Duration.seconds(15 * 60)

    private struct Entry: Sendable {
        let settings: JSONObject
        var keys: VerificationKeySet?
        var fetchedAt: Duration?
        var triedAt: Duration?
        var fetching: Task<VerificationKeySet?, Never>?

        /// Keys in the settings do not age.
        func isStale(at now: Duration) -> Bool { fetchedAt.map { now - $0 >= IssuerKeys.maximumAge } ?? false }
    }

    let journal: IssuerJournal
    private let fetch: @Sendable (String) async throws -> JSONValue
    private let clock: ServiceClock
    private let logger: Logger
    private let entries = Mutex<[BundleID: Entry]>([:])

    init(
        clock: ServiceClock,
        logger: Logger,
        journal: IssuerJournal = IssuerJournal(),
        fetch: @escaping @Sendable (String) async throws -> JSONValue
    ) {
        self.clock = clock
        self.logger = logger
        self.journal = journal
        self.fetch = fetch
    }

    /// Whether `keys` are the app's current keys and still fresh.
    func areCurrent(_ keys: VerificationKeySet, of app: BundleID) -> Bool {
        let now = clock.uptime()
        return entries.withLock { entries in
            entries[app].map { $0.keys === keys && !$0.isStale(at: now) } ?? false
        }
    }

    /// `settings` is the app's setting `jwt`, and a change discards fetched keys. If no known set suffices for the
    /// token, keys are fetched, within the limit. Nil if no keys are known and the fetch fails.
    func keys(
        of app: BundleID,
        _ settings: JSONObject,
        _ source: JWTRequirements.Source,
        suffices: @Sendable (VerificationKeySet) -> Bool
    ) async -> VerificationKeySet? {
        let known = entries.withLock { entries in
            if entries[app]?.settings != settings {
                entries[app] = Entry(settings: settings)
                journal.recordFailure(nil, of: app)
            }
            return entries[app]
        }
        let url: String
        switch source {
        case .url(let text): url = text
        case .keys(let json):
            if let keys = known?.keys { return keys }
            let keys = await VerificationKeySet(json)
            change(app, settings) { $0.keys = keys }
            return keys
        }
        if let known, let keys = known.keys, !known.isStale(at: clock.uptime()), suffices(keys) { return keys }
        let (keys, fetching) = startFetching(url, of: app, settings)
        // Stale keys are used during the refresh if they suffice.
        if let keys, suffices(keys) { return keys }
        return await fetching?.value ?? keys
    }

    /// Returns the known keys, and the current fetch or a new one if due, under one lock. Otherwise a fetch could end
    /// in between unnoticed.
    private func startFetching(
        _ url: String,
        of app: BundleID,
        _ settings: JSONObject
    ) -> (keys: VerificationKeySet?, fetching: Task<VerificationKeySet?, Never>?) {
        let now = clock.uptime()
        return entries.withLock { entries in
            guard let entry = entries[app], entry.settings == settings else { return (nil, nil) }
            if let fetching = entry.fetching { return (entry.keys, fetching) }
            if let triedAt = entry.triedAt, now - triedAt < Self.fetchInterval { return (entry.keys, nil) }
            let task = Task { await self.load(url, of: app, settings, at: now) }
            entries[app]?.fetching = task
            entries[app]?.triedAt = now
            return (entry.keys, task)
        }
    }

    private func load(
        _ url: String,
        of app: BundleID,
        _ settings: JSONObject,
        at now: Duration
    ) async -> VerificationKeySet? {
        do {
            let keys = try await VerificationKeySet.read(try await fetch(url))
            change(app, settings) { entry in
                (entry.keys, entry.fetchedAt, entry.fetching) = (keys, now, nil)
                journal.recordFailure(nil, of: app)
            }
            return keys
        } catch {
            logger.warning(
                "the keys of an issuer could not be fetched",
                metadata: ["app": "\(app)", "reason": "\(error)"]
            )
            return change(app, settings) { entry in
                entry.fetching = nil
                if entry.keys == nil { journal.recordFailure(KeySetFetcher.reason(error), of: app) }
                return entry.keys
            } ?? nil
        }
    }

    @discardableResult
    private func change<Value>(_ app: BundleID, _ settings: JSONObject, _ body: (inout Entry) -> Value) -> Value? {
        entries.withLock { entries in
            guard var entry = entries[app], entry.settings == settings else { return nil }
            let value = body(&entry)
            entries[app] = entry
            return value
        }
    }
}

/// Apps for which this instance never fetched keys, with the last failure.
package final class IssuerJournal: Sendable {
    private let failures = Mutex<[BundleID: String]>([:])

    package init() {}

    /// - Parameter failure: Nil after a successful fetch, or if the app's settings changed.
    func recordFailure(_ failure: String?, of app: BundleID) { failures.withLock { $0[app] = failure } }

    func failure(of app: BundleID) -> String? { failures.withLock { $0[app] } }

    var count: Int { failures.withLock { $0.count } }
}
