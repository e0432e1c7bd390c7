import HTTPTypes

extension Route {
    /// For browsers, and not in `openapi.json`.
    static var console: [Route] { entrance + overviews + lists + changes }

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

    private static var overviews: [Route] {
        [
            .page(.get, scope, for: .auditReads) { try await $0.showOverview() }.heavy,
            .page(.get, scope + "/search", for: .auditReads) { try await $0.showSearch() }.heavy,
            .page(.get, scope + "/activities/{activityId}", for: .auditReads) { try await $0.showActivity() }.heavy,
            .page(.get, scope + "/aliases/{kind}/{value}", for: .auditReads) { try await $0.showAlias() }.heavy,
            .page(.get, scope + "/system", for: .auditReads) { try await $0.showSystem() },
        ]
    }

    private static var lists: [Route] {
        [
            .page(.get, scope + "/stale", for: .auditReads) { try await $0.showStale() }.heavy,
            .page(.get, scope + "/stale/purge", for: .auditReads) { try await $0.showPurge() }.heavy,
            .page(.get, scope + "/installations", for: .auditReads) { try await $0.showInstallations() }.heavy,
            .page(.get, scope + "/installations/{hash}", for: .auditReads) { try await $0.showInstallation() }.heavy,
            .page(.get, scope + "/channels", for: .auditReads) { try await $0.showChannels() },
            .page(.get, scope + "/keys", for: .auditReads) { try await $0.showKeys() },
        ]
    }

    private static var changes: [Route] {
        [
            .page(.post, scope + "/stale/purge", for: .adminCalls, body: .form) { try await $0.purge() }.heavy,
            .page(.post, scope + "/activities/{activityId}/release", for: .adminCalls, body: .form) {
                try await $0.releaseActivity()
            },
            .page(.post, scope + "/keys/{keyId}/revoke", for: .adminCalls, body: .form) { try await $0.revokeKey() },
        ]
    }
}
