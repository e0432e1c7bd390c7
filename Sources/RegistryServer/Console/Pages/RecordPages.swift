import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    static let pageSize = 50

    func showAlias() async throws -> Response {
        let (scope, alias) = (try scope, try readAlias())
        let list = ["explain", alias.description]
        let start = try position(of: list)
        let found = try await registry.explain(alias, after: start, limit: Self.pageSize + 1, in: scope)
        let channel = try await registry.channel(of: alias, in: scope)
        let activities = found.activities.prefix(Self.pageSize)
        let handedOut = activities.filter { $0.facts.availability == .handedOut }
        let others = activities.filter { $0.facts.availability != .handedOut }
        let next = found.activities.count > Self.pageSize ? activities.last : nil
        return try page(
            "alias",
            title: alias.description,
            [
                "alias": alias, "found": found, "channel": channel,
                "summary": Self.summary(handedOut.count, others.count, isWhole: start == .start && next == nil),
                "handedOut": Self.rows(handedOut), "others": Self.rows(others),
                "topic": TokenKind.update.topic(of: scope.app.bundleID),
                "cursor": next?.position.cursor(of: list, in: scope),
                "eventSearch": "event:any " + SearchText.quoted("alias:\(alias)"),
            ]
        )
    }

    private static func rows(_ activities: [AliasExplanation.Activity]) -> TemplateContext? {
        activities.isEmpty ? nil : ["rows": activities]
    }

    private func readAlias() throws(Problem) -> Alias {
        do throws(JSONFaultReason) {
            return try Alias(kind: call.parameter("kind"), value: call.parameter("value"))
        } catch { throw Problem(.noSuchRoute, "The alias is not valid: it \(error.detail).") }
    }

    private static func summary(_ handedOut: Int, _ others: Int, isWhole: Bool) -> String {
        let tokens = DisplayText.count(handedOut, "token")
        guard isWhole else { return "Of these \(DisplayText.count(handedOut + others)), a sender gets \(tokens)." }
        if handedOut + others == 0 { return "A sender gets no activity token: no activity has this alias." }
        if others == 0 { return "A sender gets \(tokens), one for each activity with this alias." }
        let many = "\(DisplayText.count(others)) other activities are left out"
        let rest = others == 1 ? "1 other activity is left out" : many
        return "A sender gets \(handedOut == 0 ? "no token" : tokens); \(rest) for the reasons below."
    }

    func position(of list: [String]) throws(Problem) -> ListPosition {
        guard let text = parameter("cursor") else { return .start }
        let scope = try scope
        guard let position = try? ListPosition(cursor: text, of: list, in: scope, "this list") else {
            throw Problem(.invalidCursor, "The list cannot continue from this position. Open it again.")
        }
        return position
    }

    func showChannels() async throws -> Response {
        let after = parameter("after").flatMap { try? Alias(pair: $0) }
        let counts = try await registry.channelCounts(in: scope)
        let found = try await registry.channels(after: after, limit: Self.pageSize + 1, in: scope)
        let shown = found.prefix(Self.pageSize)
        let (used, quota) = (counts.channels, Registry.channelQuota)
        return try page(
            "channels",
            [
                "used": used, "quota": quota, "share": DisplayText.share(used, of: quota),
                "width": String(format: "%.2f", 100 * min(1, Double(used) / Double(quota))),
                "isFull": HealthCheck.isNearQuota(used),
                "aliasCount": DisplayText.count(counts.aliases, "alias", "aliases"), "channels": shown,
                "next": found.count > Self.pageSize ? shown.last?.alias : nil,
            ]
        )
    }
}

extension AliasExplanation.Note: Presentable {
    static var computed: Properties { ["sentence": \.sentence] }
}

extension BroadcastChannel: Presentable {
    static var computed: Properties { ["policy": \.policy] }

    private var policy: String {
        switch storagePolicy {
        case .none: "no message is stored"
        case .mostRecent: "the most recent message is stored"
        }
    }
}

extension ConsoleCall {
    func showInstallations() async throws -> Response {
        let time = parameter("before").flatMap { try? Date.read(.string($0)) }
        let hash = parameter("installation").flatMap { try? InstallationHash(hexadecimal: $0) }
        let after = time.map { ($0, hash ?? InstallationHash(bytes: [])) }
        let found = try await registry.installations(after: after, limit: Self.pageSize + 1, in: scope)
        let shown = found.prefix(Self.pageSize)
        let last = found.count > Self.pageSize ? shown.last : nil
        return try page(
            "installations",
            [
                "installations": shown, "last": last,
                "before": last.map { RFC3339.format($0.touchedAt, precision: .microseconds) },
            ]
        )
    }

    func showInstallation() async throws -> Response {
        guard let hash = try? InstallationHash(hexadecimal: call.parameter("hash")),
            let record = try await registry.installation(hash, in: scope)
        else {
            throw Problem(.installationNotFound, "The installation is unknown in this app and environment.")
        }
        var filter = EventFilter()
        filter.installation = record.installation
        let events = try await registry.events(filter, limit: Self.pageSize, in: scope)
        return try page(
            "installation",
            title: "Installation \(record.installation.short)",
            [
                "record": record, "aliases": Alias.all(in: record.aliases), "isOnePhone": true,
                "tokens": record.tokens,
                "rows": try await registry.findActivities([.installation(hash.bytes)], limit: Self.pageSize, in: scope),
                "leases": try await registry.leases(of: record.installation, in: scope),
                "eventsFound": events.items, "hasMoreEvents": events.next != nil,
            ]
        )
    }
}
