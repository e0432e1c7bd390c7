import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showChannels() async throws -> Response {
        let scope = try requireScope()
        let link = ConsoleLink(scope)
        let after = parameter("after").flatMap { try? Alias(pair: $0) }
        let counts = try await registry.channelCounts(in: scope)
        let found = try await registry.channels(after: after, limit: Self.pageSize + 1, in: scope)
        let shown = found.prefix(Self.pageSize)
        let last = found.count > Self.pageSize ? shown.last : nil
        let quota = Registry.channelQuota
        return try page(
            "channels",
            [
                "quotaUsed": .text(DisplayText.count(counts.channels)), "quota": .text(DisplayText.count(quota)),
                "quotaShare": .text(DisplayText.share(counts.channels, of: quota)),
                "quotaWidth": .text(String(format: "%.2f", 100 * min(1, Double(counts.channels) / Double(quota)))),
                "isFull": .flag(HealthCheck.isNearQuota(counts.channels)),
                "aliasCount": .text(DisplayText.count(counts.aliases, "alias", "aliases")),
                "channels": .list(
                    shown.map { listed in
                        [
                            "aliasText": .text(listed.alias.description), "aliasHref": .text(link.alias(listed.alias)),
                            "channelId": .text(listed.channel.id.string),
                            "policy": .text(listed.channel.storagePolicy.sentence),
                            "updated": .row(.moment(listed.updatedAt, now)),
                        ]
                    }
                ),
                "nextPath": .optional(last.map { link.page("channels", [("after", $0.alias.description)]) }),
            ]
        )
    }
}
