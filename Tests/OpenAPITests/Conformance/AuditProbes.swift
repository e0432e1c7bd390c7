import RegistryCore

extension Probe {
    private static let named: JSONObject = ["aliases": ["matchId": "audit"], "installationId": "audit-1"]

    private static func activity(_ id: String, _ token: Int) -> Message { .activity(id, token, 3, named) }

    private static let installation: Message = .put("…/installations/audit-1", ["aliases": ["matchId": "audit"]])
    private static let startToken: Message = .token("audit-1/start-tokens/Delivery", 222, 3)

    static let audit: [Probe] = [
        Probe("getStatistics", "of a day", .get("…/stats"))
            .after(activity("audit-1", 220))
            .gives(200, ["window": "P1D"]),
        Probe("getStatistics", "of a month", .get("…/stats?window=P30D"))
            .gives(200, ["window": "P30D", "step": "PT6H"]),
        Probe("getStatistics", "of a year", .get("…/stats?window=P365D")).fails(.invalidRequest),
        Probe("listStaleTokens", "of no time", .get("…/audit/stale?unconfirmedFor=PT0S")).fails(.invalidRequest),
        Probe("listStaleTokens", "all", .get("…/audit/stale?limit=1000"))
            .after(activity("audit-2", 221), startToken)
            .gives(200),
        Probe("listStaleTokens", "with filters", .get("…/audit/stale?kind=start&reason=quarantined&attributesType=x"))
            .gives(200, ["tokens": []]),
        Probe("listStaleTokens", "of an unheard-of kind", .get("…/audit/stale?kind=watch")).fails(.invalidRequest),
        Probe("listStaleTokens", "of another cursor", .get("…/audit/stale?cursor=nonsense")).fails(.invalidCursor),
        Probe("purgeStaleTokens", "what would go", .post("…/audit/stale/purge", ["reason": "expired"]))
            .gives(200, ["dryRun": true, "complete": true]),
        Probe("purgeStaleTokens", "for good", .post("…/audit/stale/purge", oldDeviceTokens)).gives(200, ["purged": 0]),
        Probe("purgeStaleTokens", "for no reason", .post("…/audit/stale/purge", ["reason": "boredom"]))
            .fails(.invalidRequest),
        Probe("listAuditEvents", "all", .get("…/audit/events?limit=1000")).gives(200),
        Probe("listAuditEvents", "of an activity", .get("…/audit/events?activityId=audit-1&type=registered"))
            .after(activity("audit-1", 220))
            .gives(200),
        Probe("listAuditEvents", "of everything else", .get("…/audit/events?" + filters)).gives(200, ["events": []]),
        Probe("listAuditEvents", "of half an alias", .get("…/audit/events?alias=order-42")).fails(.invalidRequest),
        Probe("listAuditEvents", "of another cursor", .get("…/audit/events?cursor=nonsense")).fails(.invalidCursor),
        Probe("followChanges", "from now", .get("…/changes")).gives(200, ["changes": [], "more": false]),
        Probe("followChanges", "of all else", .get("…/changes?limit=5&wait=0&types=available&alias=matchId:audit"))
            .gives(200, ["changes": []]),
        Probe("followChanges", "from nowhere", .get("…/changes?after=nonsense")).fails(.invalidRequest),
        Probe("followChanges", "for an hour", .get("…/changes?wait=3600")).fails(.invalidRequest),
        // A position of the database with the number 1.
        Probe("followChanges", "from another database", .get("…/changes?after=1.1.1.1.1.1.0.0.1.1.1.0.0."))
            .fails(.feedReset),
        Probe("explainAlias", "that is known", .get("…/audit/explain?kind=matchId&value=audit"))
            .after(activity("audit-3", 223), .delete("…/activities/audit-3"), installation, startToken)
            .gives(200, ["notes": []]),
        Probe("explainAlias", "that nobody knows", .get("…/audit/explain?kind=matchId&value=nothing"))
            .gives(200, ["activities": [], "tokens": []]),
        Probe("explainAlias", "without a value", .get("…/audit/explain?kind=matchId")).fails(.invalidRequest),
        Probe("explainAlias", "of another cursor", .get("…/audit/explain?kind=a&value=b&cursor=nonsense"))
            .fails(.invalidCursor),
    ]

    private static let oldDeviceTokens: JSONValue = ["kind": "device", "unconfirmedFor": "P30D", "dryRun": false]
    private static let filters =
        "installationId=audit-9&subject=nobody&alias=matchId:audit&type=purged&since=2026-01-01T00:00:00Z"
        + "&until=2999-01-01T00:00:00Z"
}
