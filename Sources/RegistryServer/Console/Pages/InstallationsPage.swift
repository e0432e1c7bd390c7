import Foundation
import RegistryCore
import RegistryStore

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
