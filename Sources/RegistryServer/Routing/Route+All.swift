import HTTPTypes
import RegistryCore

extension Route {
    /// The complete API. `…` is `/v1/apps/{bundleId}/{environment}`.
    static var all: [Route] {
        activities + installations + installationTokens + aliases + plans + audit + others
    }

    private static var activities: [Route] {
        [
            .scoped(.put, "…/activities/{activityId}", for: .clientCalls, body: .single) { try await $0.register() },
            .scoped(.get, "…/activities/{activityId}", for: .senderCalls) { try await $0.readActivity() },
            .scoped(.delete, "…/activities/{activityId}", for: .clientCalls) { try await $0.end() },
            .scoped(.post, "…/activities", for: .clientCalls, body: .single) { try await $0.registerByAlias() },
            .scoped(.delete, "…/activities", for: .clientCalls) { try await $0.endByAlias() },
        ]
    }

    private static let installation = "…/installations/{installationId}"

    private static var installations: [Route] {
        let startToken = installation + "/start-tokens/{attributesType}"
        return [
            .scoped(.put, installation, for: .clientCalls, body: .single) { try await $0.putInstallation() },
            .scoped(.get, installation, for: .recordReads) { try await $0.readInstallationRecord() },
            .scoped(.delete, installation, for: .clientCalls) { try await $0.logOut() }.heavy,
            .scoped(.put, installation + "/activities", for: .clientCalls, body: .batch) {
                try await $0.applyFullState()
            }.heavy,
            .scoped(.put, startToken, for: .clientCalls, body: .single) { try await $0.registerToken(of: .start) },
            .scoped(.delete, startToken, for: .clientCalls) { try await $0.deleteToken(of: .start) },
            .scoped(.post, startToken + "/release", for: .adminCalls) { try await $0.releaseToken(of: .start) },
        ]
    }

    /// Calls for kinds with one token per installation. The device token has an additional path.
    private static var installationTokens: [Route] {
        let (ofKind, device) = (installation + "/tokens/{tokenKind}", installation + "/device-token")
        return [
            .scoped(.put, ofKind, for: .clientCalls, body: .single) { try await $0.registerToken() },
            .scoped(.delete, ofKind, for: .clientCalls) { try await $0.deleteToken() },
            .scoped(.post, ofKind + "/release", for: .adminCalls) { try await $0.releaseToken() },
            .scoped(.get, "…/aliases/{kind}/{value}/tokens/{tokenKind}", for: .senderCalls) {
                try await $0.listTokens()
            },
            .scoped(.put, device, for: .clientCalls, body: .single) { try await $0.registerToken(of: .device) },
            .scoped(.delete, device, for: .clientCalls) { try await $0.deleteToken(of: .device) },
            .scoped(.post, device + "/release", for: .adminCalls) { try await $0.releaseToken(of: .device) },
            .scoped(.get, "…/aliases/{kind}/{value}/device-tokens", for: .senderCalls) {
                try await $0.listTokens(of: .device)
            },
        ]
    }

    private static var aliases: [Route] {
        let channel = "…/aliases/{kind}/{value}/channel"
        return [
            .scoped(
                .get,
                "…/aliases/{kind}/{value}/activities",
                for: .senderCalls,
                asLines: { try await $0.streamActivities() },
                { try await $0.listActivities() }
            ).costing(.heavyAsLines),
            .scoped(.delete, "…/aliases/{kind}/{value}/activities", for: .senderCalls) { try await $0.endAll() }.heavy,
            .scoped(.get, "…/aliases/{kind}/{value}/start-tokens", for: .senderCalls) {
                try await $0.listTokens(of: .start)
            },
            .scoped(.put, channel, for: .senderCalls, body: .single) { try await $0.putChannel() },
            .scoped(.get, channel, for: .senderCalls) { try await $0.readChannel() },
            .scoped(.delete, channel, for: .senderCalls) { try await $0.deleteChannel() },
            .scoped(.post, "…/resolve", for: .senderCalls, body: .batch) { try await $0.resolve() }
                .costing(.heavyUnlessSmall),
            .scoped(.get, "…/changes", for: .changeReads) { try await $0.followChanges() },
            .scoped(.post, "…/feedback", for: .senderCalls, body: .batchOrLines) { try await $0.takeFeedback() }.heavy,
            .scoped(.post, "…/feedback/gorush", for: .senderCalls, body: .single) { try await $0.takeGorushPost() },
            .scoped(.post, "…/activities/{activityId}/release", for: .adminCalls) { try await $0.releaseActivity() },
            .scoped(.post, "…/release", for: .adminCalls) { try await $0.releaseAll() }.heavy,
            .scoped(.post, "…/erasures", for: .adminCalls, body: .single) { try await $0.erase() }.heavy,
        ]
    }

    private static var plans: [Route] {
        [
            .scoped(.post, "…/plan", for: .senderCalls, body: .single) { try await $0.plan() }.heavy,
            .scoped(.delete, "…/plan/leases/{leaseId}", for: .senderCalls) { try await $0.releaseLease() },
        ]
    }

    private static var audit: [Route] {
        [
            .scoped(.get, "…/stats", for: .auditReads) { try await $0.readStatistics() }.heavy,
            .scoped(.get, "…/audit/stale", for: .auditReads) { try await $0.listStaleTokens() }.heavy,
            .scoped(.post, "…/audit/stale/purge", for: .adminCalls, body: .single) {
                try await $0.purgeStaleTokens()
            }.heavy,
            .scoped(.get, "…/audit/events", for: .auditReads) { try await $0.listEvents() }.heavy,
            .scoped(.get, "…/audit/explain", for: .auditReads) { try await $0.explainAlias() }.heavy,
        ]
    }

    private static var others: [Route] {
        [
            .plain(.get, "/v1/apps", for: .appReads) { try await $0.listApps() },
            .plain(.put, "/v1/apps/{bundleId}", for: .appChanges, body: .single) { try await $0.putApp() },
            .plain(.get, "/v1/apps/{bundleId}", for: .appReads) { try await $0.readApp() },
            .plain(.delete, "/v1/apps/{bundleId}", for: .rootCalls) { try await $0.deleteApp() }.heavy,
            .app(.post, "/v1/apps/{bundleId}/keys", for: .keyCalls, body: .single) { try await $0.createKey(of: $1) },
            .app(.get, "/v1/apps/{bundleId}/keys", for: .keyCalls) { try await $0.listKeys(of: $1) },
            .app(.delete, "/v1/apps/{bundleId}/keys/{keyId}", for: .keyCalls) { try await $0.revokeKey(of: $1) },
            .plain(.get, "/livez", for: .everyone) { $0.liveness },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness() },
            .plain(.get, "/metrics", for: .operatorReads) { await $0.metrics.response() },
            .plain(.get, "/openapi.json", for: .everyone) { _ in .openAPI },
        ]
    }
}
