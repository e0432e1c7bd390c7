import HTTPTypes
import RegistryCore

extension Route {
    /// The complete API. `…` is `/v1/apps/{bundleId}/{environment}`.
    static var all: [Route] { activities + installations + installationTokens + aliases + audit + others }

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
        [
            .scoped(.put, installation, for: .clientCalls, body: .single) { try await $0.putInstallation() },
            .scoped(.get, installation, for: .recordReads) { try await $0.readInstallationRecord() },
            .scoped(.delete, installation, for: .clientCalls) { try await $0.logOut() }.heavy,
            .scoped(.put, installation + "/activities", for: .clientCalls, body: .batch) {
                try await $0.applyFullState()
            }.heavy,
        ]
    }

    private static var installationTokens: [Route] {
        // Kinds with one token per installation are in the path. The device token has an additional path.
        let kinds: [(TokenKind?, path: String, list: String)] = [
            (.start, "/start-tokens/{attributesType}", "start-tokens"), (.device, "/device-token", "device-tokens"),
            (nil, "/tokens/{tokenKind}", "tokens/{tokenKind}"),
        ]
        return kinds.flatMap { kind, path, list in
            let token = installation + path
            return [
                .scoped(.put, token, for: .clientCalls, body: .single) { try await $0.registerToken(of: kind) },
                .scoped(.delete, token, for: .clientCalls) { try await $0.deleteToken(of: kind) },
                .scoped(.post, token + "/release", for: .adminCalls) { try await $0.releaseToken(of: kind) },
                .scoped(.get, "…/aliases/{kind}/{value}/" + list, for: .senderCalls) {
                    try await $0.listTokens(of: kind)
                },
            ] as [Route]
        }
    }

    private static var aliases: [Route] {
        let channel = "…/aliases/{kind}/{value}/channel"
        return [
            .scoped(.get, "…/aliases/{kind}/{value}/activities", for: .senderCalls) {
                try await $0.listActivities()
            }.costing(.heavyAsLines),
            .scoped(.delete, "…/aliases/{kind}/{value}/activities", for: .senderCalls) { try await $0.endAll() }.heavy,
            .scoped(.put, channel, for: .senderCalls, body: .single) { try await $0.putChannel() },
            .scoped(.get, channel, for: .senderCalls) { try await $0.readChannel() },
            .scoped(.delete, channel, for: .senderCalls) { try await $0.deleteChannel() },
            .scoped(.post, "…/resolve", for: .senderCalls, body: .batch) { try await $0.resolve() }
                .costing(.heavyUnlessSmall),
            .scoped(.get, "…/changes", for: .recordReads) { try await $0.followChanges() },
            .scoped(.post, "…/feedback", for: .senderCalls, body: .batchOrLines) { try await $0.takeFeedback() }.heavy,
            .scoped(.post, "…/feedback/gorush", for: .senderCalls, body: .single) { try await $0.takeGorushPost() },
            .scoped(.post, "…/activities/{activityId}/release", for: .adminCalls) { try await $0.releaseActivity() },
            .scoped(.post, "…/release", for: .adminCalls) { try await $0.releaseAll() }.heavy,
            .scoped(.post, "…/erasures", for: .adminCalls, body: .single) { try await $0.erase() }.heavy,
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
            .plain(.get, "/v1/apps", for: .auditReads) { try await $0.listApps() },
            .plain(.put, "/v1/apps/{bundleId}", for: .adminCalls, body: .single) { try await $0.putApp() },
            .plain(.get, "/v1/apps/{bundleId}", for: .auditReads) { try await $0.readApp() },
            .plain(.delete, "/v1/apps/{bundleId}", for: .rootCalls) { try await $0.deleteApp() }.heavy,
            .plain(.post, "/v1/apps/{bundleId}/keys", for: .adminCalls, body: .single) { try await $0.createKey() },
            .plain(.get, "/v1/apps/{bundleId}/keys", for: .adminCalls) { try await $0.listKeys() },
            .plain(.delete, "/v1/apps/{bundleId}/keys/{keyId}", for: .adminCalls) { try await $0.revokeKey() },
            .plain(.get, "/livez", for: .everyone) { $0.liveness },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness() },
            .plain(.get, "/metrics", for: .auditReads) { await $0.metrics.response() },
            .plain(.get, "/openapi.json", for: .everyone) { _ in .openAPI },
        ]
    }
}

/// The routes of the admin port, which need no credentials: an operator who opens this port restricts access to it.
extension Route {
    static var admin: [Route] {
        [
            .plain(.get, "/livez", for: .everyone) { $0.liveness },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness(isOpen: true) },
            .plain(.get, "/metrics", for: .everyone) { await $0.metrics.response() },
        ]
    }
}

extension Route {
    /// For browsers, and not in `openapi.json`.
    static var console: [Route] { entrance + pages }

    private static var entrance: [Route] {
        [
            .page(.get, ConsoleLink.home, for: .auditReads) { try await $0.showApps() },
            .page(.get, ConsoleLink.signIn, for: .everyone) { $0.showSignIn() },
            .page(.post, ConsoleLink.signIn, for: .everyone, body: .form) { try await $0.signIn() },
            .page(.post, ConsoleLink.provider, for: .everyone, body: .form) { try await $0.beginSignIn() },
            .page(.get, ConsoleLink.callback, for: .everyone) { try await $0.finishSignIn() },
            .page(.post, ConsoleLink.signOut, for: .everyone, body: .form) { try $0.signOut() },
            .page(.get, "/console/assets/{version}/{name}", for: .everyone) { try $0.showAsset() },
        ]
    }

    private static let scope = "/console/{bundleId}/{environment}"

    private static var pages: [Route] {
        [
            .page(.get, scope, for: .auditReads) { try await $0.showOverview() }.heavy,
            .page(.get, scope + "/search", for: .auditReads) { try await $0.showSearch() }.heavy,
            .page(.get, scope + "/activities/{activityId}", for: .auditReads) { try await $0.showActivity() }.heavy,
            .page(.get, scope + "/aliases/{kind}/{value}", for: .auditReads) { try await $0.showAlias() }.heavy,
            .page(.get, scope + "/system", for: .auditReads) { try await $0.showSystem() },
            .page(.get, scope + "/stale", for: .auditReads) { try await $0.showStale() }.heavy,
            .page(.get, scope + "/stale/purge", for: .auditReads) { try await $0.showPurge() }.heavy,
            .page(.get, scope + "/installations", for: .auditReads) { try await $0.showInstallations() }.heavy,
            .page(.get, scope + "/installations/{hash}", for: .auditReads) { try await $0.showInstallation() }.heavy,
            .page(.get, scope + "/channels", for: .auditReads) { try await $0.showChannels() },
            .page(.get, scope + "/keys", for: .auditReads) { try await $0.showKeys() },
            .page(.post, scope + "/stale/purge", for: .adminCalls, body: .form) { try await $0.purge() }.heavy,
            .page(.post, scope + "/activities/{activityId}/release", for: .adminCalls, body: .form) {
                try await $0.releaseActivity()
            },
            .page(.post, scope + "/keys/{keyId}/revoke", for: .adminCalls, body: .form) { try await $0.revokeKey() },
        ]
    }
}
