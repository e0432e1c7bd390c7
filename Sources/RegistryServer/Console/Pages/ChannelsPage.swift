import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
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
