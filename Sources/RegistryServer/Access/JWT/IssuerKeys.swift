import Foundation
import Logging
import RegistryCore
import Synchronization

/// The keys of the apps' issuers, each fetched from its URL, kept, and fetched again when that is called for.
///
/// - A set is fetched when a token names a key that it does not hold, and when it is older than `maximumAge`.
/// - However many tokens come, there is at most one fetch a minute for an app, and never two at once.
/// - While the source is down, the keys that are known go on working until it answers again.
final class IssuerKeys: Sendable {
    /// The least time between two fetches for an app, whether or not they succeed.
    static let fetchInterval = Duration.seconds(60)
    /// From when on a set is fetched again though nobody asked for more, so that a withdrawn key does not stay.
    static let maximumAge = Duration.seconds(15 * 60)

    private struct Entry: Sendable {
        let settings: JSONObject
        var keys: VerificationKeySet?
        var fetchedAt: Duration?
        var triedAt: Duration?
        var fetching: Task<VerificationKeySet?, Never>?

        /// Keys of the settings themselves were never fetched, and do not age.
        func isStale(at now: Duration) -> Bool { fetchedAt.map { now - $0 >= IssuerKeys.maximumAge } ?? false }
    }

    private let fetch: @Sendable (String) async throws -> JSONValue
    private let clock: ServiceClock
    private let logger: Logger
    private let entries = Mutex<[BundleID: Entry]>([:])

    /// - Parameter fetch: gets the JSON behind a URL.
    init(
        clock: ServiceClock,
        logger: Logger,
        fetch: @escaping @Sendable (String) async throws -> JSONValue
    ) {
        self.clock = clock
        self.logger = logger
        self.fetch = fetch
    }

    /// Whether keys are those by which a token of the app would be checked now, and are not to be fetched again yet.
    func areCurrent(_ keys: VerificationKeySet, of app: BundleID) -> Bool {
        let now = clock.uptime()
        return entries.withLock { entries in
            entries[app].map { $0.keys === keys && !$0.isStale(at: now) } ?? false
        }
    }

    /// The keys to check a token by.
    ///
    /// - Parameters:
    ///   - settings: the app's setting `jwt`; when it was changed, what was fetched before counts no more.
    ///   - suffices: whether a set can decide about the token; when it cannot, the source is asked if it is time to.
    /// - Returns: nil when nothing is known and the source is down.
    func keys(
        of app: BundleID,
        _ settings: JSONObject,
        _ source: JWTRequirements.Source,
        suffices: @Sendable (VerificationKeySet) -> Bool
    ) async -> VerificationKeySet? {
        let known = entries.withLock { entries in
            if entries[app]?.settings != settings { entries[app] = Entry(settings: settings) }
            return entries[app]
        }
        guard case .url(let url) = source else {
            if let keys = known?.keys { return keys }
            return await keep(source, of: app, settings)
        }
        if let known, let keys = known.keys, !known.isStale(at: clock.uptime()), suffices(keys) { return keys }
        let (keys, fetching) = startFetching(url, of: app, settings)
        // Stale but sufficient keys are used while the refresh runs.
        if let keys, suffices(keys) { return keys }
        return await fetching?.value ?? keys
    }

    /// Reads keys that the settings themselves hold, once.
    private func keep(
        _ source: JWTRequirements.Source,
        of app: BundleID,
        _ settings: JSONObject
    ) async -> VerificationKeySet? {
        guard case .keys(let json) = source else { return nil }
        let keys = await VerificationKeySet(json)
        change(app, settings) { $0.keys = keys }
        return keys
    }

    /// The keys that are known now, and the fetch that is under way, or a new one if it is time for one. Both in one look: a
    /// fetch that ends between two would be missed.
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
            guard let keys = await VerificationKeySet(try await fetch(url)), !keys.keys.isEmpty else {
                throw JSONFaultReason("no JSON Web Key Set with keys for RS256, ES256 or EdDSA")
            }
            change(app, settings) { ($0.keys, $0.fetchedAt, $0.fetching) = (keys, now, nil) }
            return keys
        } catch {
            logger.warning(
                "the keys of an issuer could not be fetched",
                metadata: ["app": "\(app)", "reason": "\(error)"]
            )
            return change(app, settings) { entry in
                entry.fetching = nil
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
