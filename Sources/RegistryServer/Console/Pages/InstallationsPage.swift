import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showInstallations() async throws -> Response {
        let scope = try requireScope()
        let link = ConsoleLink(scope)
        let time = parameter("before").flatMap { try? ParameterReader.timestamp($0) }
        let hash = parameter("installation").flatMap { Hexadecimal.decode($0) }.map(InstallationHash.init(bytes:))
        let found = try await registry.installations(
            after: time.map { ($0, hash ?? InstallationHash(bytes: [])) },
            limit: Self.pageSize + 1,
            in: scope
        )
        let shown = found.prefix(Self.pageSize)
        let last = found.count > Self.pageSize ? shown.last : nil
        let next = last.map {
            link.page(
                "installations",
                [
                    ("before", RFC3339.format($0.touchedAt, precision: .microseconds)),
                    ("installation", Hexadecimal.encode($0.installation.bytes)),
                ]
            )
        }
        return try page(
            "installations",
            ["installations": .list(shown.map { row($0, link) }), "nextPath": .optional(next)]
        )
    }

    private func row(_ listed: ListedInstallation, _ link: ConsoleLink) -> TemplateContext {
        [
            "installation": .text(DisplayText.short(listed.installation)),
            "installationPath": .text(link.installation(listed.installation)), "subject": .optional(listed.subject),
            "heard": .row(.moment(listed.touchedAt, now)), "fullState": .optional(.moment(listed.fullStateAt, now)),
            "loggedOut": .optional(.moment(listed.loggedOutAt, now)),
        ]
    }

    func showInstallation() async throws -> Response {
        let scope = try requireScope()
        let link = ConsoleLink(scope)
        guard let bytes = Hexadecimal.decode(call.parameter("hash")), bytes.count == 32,
            let record = try await registry.installation(InstallationHash(bytes: bytes), in: scope)
        else {
            throw Problem(.installationNotFound, "The installation is unknown in this app and environment.")
        }
        let tokens = try await registry.explainTokens(of: record.installation, in: scope)
        let running = try await registry.findActivities([.installation(bytes)], limit: Self.pageSize, in: scope)
        let leases = try await registry.leases(of: record.installation, in: scope)
        var filter = EventFilter()
        filter.installation = record.installation
        let events = try await registry.events(filter, limit: Self.pageSize, in: scope)
        return try page(
            "installation",
            title: "Installation \(DisplayText.short(record.installation))",
            [
                "hash": .text(record.installation.description), "user": .optional(record.subject),
                "heard": .row(.moment(record.touchedAt, now)),
                "fullState": .optional(.moment(record.fullStateAt, now)),
                "loggedOut": .optional(.moment(record.loggedOutAt, now)),
                "aliases": .list(
                    DisplayText.aliases(record.aliases).map {
                        ["aliasText": .text($0.description), "aliasHref": .text(link.alias($0))]
                    }
                ),
                "tokens": .list(tokens.map { Self.row($0, link, now) }),
                "rows": .list(running.map { .row($0, link, now) }),
                "leases": .list(leases.map { .row($0, link, now) }),
                "eventsFound": .list(events.items.map { Self.row($0, link, now) }),
                "hasMoreEvents": .flag(events.next != nil),
            ]
        )
    }

    /// Without the installation, which is the page's.
    private static func row(_ token: AliasExplanation.Token, _ link: ConsoleLink, _ now: Date) -> TemplateContext {
        var fields = TemplateContext.row(token, link, now)
        fields["installation"] = nil
        return fields
    }
}
