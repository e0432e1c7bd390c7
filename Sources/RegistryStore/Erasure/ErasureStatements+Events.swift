import PostgresDriver
import RegistryCore

/// The redaction of the audit trail.
extension ErasureStatements {
    /// Takes all personal data out of events; that something happened remains.
    func redaction(_ condition: SQL) -> SQL {
        """
        UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
            token_fingerprint = NULL, who = CASE WHEN starts_with(e.who, \(AuditName.userPrefix)) THEN 'erased' ELSE e.who END
        WHERE \(sql: scope.contains("e")) AND \(sql: condition)
        """
    }

    /// Redacts the next events that are about what was erased by themselves, without an activity or an installation that went
    /// with it; those that were are found no more. An alias has no index there: ``redact(_:after:limit:in:)``.
    ///
    /// The summary of the trail finds them, where ``AuditEventStatements/preferIndexes`` goes before. The app is said so that
    /// no other index can be asked: the planner would rather walk through all of the app's events.
    func redact(limit: Int) -> SQL? {
        let condition: SQL
        switch subject {
        case .alias: return nil
        case .installation(let hash): condition = "o.installation_hash = \(hash.bytes)"
        case .subject(let subject): condition = "(o.subject = \(subject) OR o.who = \(AuditName.user(subject)))"
        }
        return redaction(
            """
            e.event_number = ANY(ARRAY(
                SELECT o.event_number FROM events o
                WHERE \(sql: scope.containsUnindexed("o")) AND \(sql: condition) LIMIT \(limit)
            ))
            """
        )
    }

    /// Redacts what a page of events says of an alias.
    ///
    /// - Returns: a statement that gives the last event's number, null after the last page, and how many were redacted.
    static func redact(_ alias: Alias, after number: Int64, limit: Int, in scope: Scope) -> SQL {
        let statements = ErasureStatements(subject: .alias(alias), scope: scope)
        let redaction = statements.redaction(
            """
            e.event_number > \(number) AND e.event_number <= (SELECT max(page.event_number) FROM page)
            AND e.aliases -> \(alias.kind) ? \(alias.value)
            """
        )
        return """
            WITH page AS (
                SELECT o.event_number FROM events o
                WHERE o.app_number = \(scope.app.number) AND o.event_number > \(number)
                ORDER BY o.event_number LIMIT \(limit)
            ), redacted AS (\(sql: redaction) RETURNING e.event_number)
            SELECT (SELECT max(page.event_number) FROM page), (SELECT count(*) FROM redacted)
            """
    }
}
