import PostgresDriver
import RegistryCore

extension ErasureStatements {
    /// Removes all personal data from events; the events remain.
    func redaction(_ condition: SQL) -> SQL {
        """
        UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
            token_fingerprint = NULL, who = CASE WHEN starts_with(e.who, \(AuditName.userPrefix)) THEN 'erased' ELSE e.who END
        WHERE \(sql: scope.contains("e")) AND \(sql: condition)
        """
    }

    /// Low, because each event is looked up in all days of the trail.
    static let eventPageSize = 2000

    /// Redacts a page of events, and returns its size; redacted events are not found again.
    ///
    /// The scope is compared so that only the condition's index can be used: the planner would otherwise read all of the
    /// scope's events.
    ///
    /// - Parameter condition: about event `o`, in addition to its scope; a redacted event no longer meets it.
    func redactPage(of condition: SQL, limit: Int) -> SQL {
        let redaction = redaction("e.event_number = ANY(ARRAY(SELECT page.event_number FROM page))")
        return """
            WITH page AS MATERIALIZED (
                SELECT o.event_number FROM events o
                WHERE \(sql: RowPlaces.isOf(scope, "o")) AND \(sql: condition)
                LIMIT \(limit)
            ), redacted AS (\(sql: redaction))
            SELECT count(*) FROM page
            """
    }

    /// Redacts the next events that name the subject itself without an erased activity or installation, and returns
    /// their number. Aliases have no index there: see ``redact(_:after:limit:in:)``.
    ///
    /// The summary of the trail finds them if ``AuditEventStatements/preferIndexes`` runs first.
    func redact(limit: Int) -> SQL? {
        switch subject {
        case .alias: nil
        case .installation(let hash): redactPage(of: "o.installation_hash = \(hash.bytes)", limit: limit)
        case .subject(let subject):
            redactPage(of: "(o.subject = \(subject) OR o.who = \(AuditName.user(subject)))", limit: limit)
        }
    }

    /// Removes an alias from a page of events.
    ///
    /// - Returns: a statement that gives the last event's number, null after the last page, and the number of redacted
    ///   events.
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
                WHERE \(sql: scope.contains("o")) AND o.event_number > \(number)
                ORDER BY o.event_number LIMIT \(limit)
            ), redacted AS (\(sql: redaction) RETURNING e.event_number)
            SELECT (SELECT max(page.event_number) FROM page), (SELECT count(*) FROM redacted)
            """
    }
}
