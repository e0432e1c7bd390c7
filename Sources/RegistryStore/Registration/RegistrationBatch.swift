import Foundation
import PostgresDriver
import RegistryCore

/// Registrations of one app and environment, column by column, as `unnest` takes them.
///
/// Which requests may be in one batch ``RegistrationSelection`` says.
struct RegistrationBatch {
    /// The requests are clients', each the own one of its subject and installation: records of others stay untouched.
    let isGuarded: Bool
    private(set) var activityIDs: [ActivityID] = []
    private var tokens: [[UInt8]?] = []
    private var observedAt: [Date?] = []
    private var startedAt: [Date?] = []
    private var startsAt: [Date?] = []
    private var wasAccepted: [Bool?] = []
    private var installations: [[UInt8]?] = []
    private var subjects: [UTF8Text?] = []
    private var attributesTypes: [UTF8Text?] = []
    private var frequentPushes: [Bool?] = []
    private var aliases: [JSONB?] = []
    private var aliasesGivenAt: [Date?] = []
    private var metadata: [JSONB?] = []
    private var callers: [UTF8Text] = []

    init(isGuarded: Bool = false) { self.isGuarded = isGuarded }

    /// Some request has no `observedAt`: it is ordered by its receipt, so its row is locked before it is looked at.
    private(set) var needsReceiptOrder = false
    private(set) var hasAliases = false
    /// Some request says when its activity is scheduled to start.
    private(set) var hasStarts = false

    mutating func append(_ request: RegistrationRequest) {
        let registration = request.registration
        needsReceiptOrder = needsReceiptOrder || registration.observedAt == nil
        hasAliases = hasAliases || registration.aliases != nil || registration.defaultAliases != nil
        hasStarts = hasStarts || registration.startsAt != nil
        append(registration, as: request.id)
        callers.append(request.who)
    }

    private mutating func append(_ registration: ActivityRegistration, as id: ActivityID) {
        activityIDs.append(id)
        tokens.append(registration.token?.bytes)
        observedAt.append(registration.observedAt)
        startedAt.append(registration.startedAt)
        startsAt.append(registration.startsAt)
        wasAccepted.append(registration.wasAccepted)
        installations.append(registration.installation?.bytes)
        subjects.append(registration.subject)
        attributesTypes.append(registration.attributesType?.rawValue)
        frequentPushes.append(registration.frequentPushesEnabled)
        aliases.append((registration.aliases ?? registration.defaultAliases).map { JSONB($0.canonicalJSON) })
        // Default aliases count as given before all others, so that they never replace any.
        aliasesGivenAt.append(registration.aliases == nil ? .distantPast : nil)
        metadata.append(registration.metadata.map { JSONB($0.canonicalJSON) })
    }

    /// A batch whose columns are all different, for templates.
    ///
    /// - Parameter shape: on which of them the statements depend.
    init(sampleOf shape: Shape) {
        isGuarded = shape.isGuarded
        needsReceiptOrder = shape.needsReceiptOrder
        hasAliases = shape.hasAliases
        hasStarts = shape.hasStarts
        activityIDs = [ActivityID(stored: "activity")]
        tokens = [[1]]
        observedAt = [Date(timeIntervalSinceReferenceDate: 1)]
        startedAt = [Date(timeIntervalSinceReferenceDate: 2)]
        startsAt = [Date(timeIntervalSinceReferenceDate: 4)]
        wasAccepted = [false]
        installations = [[2]]
        subjects = ["subject"]
        attributesTypes = ["type"]
        frequentPushes = [true]
        aliases = [JSONB("1")]
        aliasesGivenAt = [Date(timeIntervalSinceReferenceDate: 3)]
        metadata = [JSONB("2")]
        callers = ["who"]
    }

    /// The properties of a batch on which the texts of its statements depend.
    struct Shape: Hashable {
        let isGuarded: Bool
        let needsReceiptOrder: Bool
        let hasAliases: Bool
        let hasStarts: Bool

        static let all = (0..<16).map {
            Shape(
                isGuarded: $0 & 1 != 0,
                needsReceiptOrder: $0 & 2 != 0,
                hasAliases: $0 & 4 != 0,
                hasStarts: $0 & 8 != 0
            )
        }
    }

    var shape: Shape {
        Shape(
            isGuarded: isGuarded,
            needsReceiptOrder: needsReceiptOrder,
            hasAliases: hasAliases,
            hasStarts: hasStarts
        )
    }

    /// The columns, as parameters, called as ``valueNames`` has it.
    var values: [PostgresParameter] {
        [
            PostgresParameter(activityIDs), PostgresParameter(tokens), PostgresParameter(observedAt),
            PostgresParameter(startedAt), PostgresParameter(installations), PostgresParameter(subjects),
            PostgresParameter(attributesTypes), PostgresParameter(frequentPushes), PostgresParameter(aliases),
            PostgresParameter(aliasesGivenAt), PostgresParameter(metadata), PostgresParameter(callers),
            PostgresParameter(startsAt), PostgresParameter(wasAccepted),
        ]
    }

    static let valueNames = [
        "activityIds", "tokens", "observedAt", "startedAt", "installations", "subjects", "attributesTypes",
        "frequentPushesEnabled", "aliases", "aliasesGivenAt", "metadata", "callers", "startsAt", "wasAccepted",
    ]

    /// The requests as rows.
    var rows: SQL {
        let starts: SQL = hasStarts ? ", \(startsAt), \(wasAccepted)" : ""
        return """
            unnest(\(activityIDs), \(tokens), \(observedAt), \(startedAt), \(installations), \(subjects),
            \(attributesTypes), \(frequentPushes), \(aliases), \(aliasesGivenAt), \(metadata)\(sql: starts))
            AS q (activity_id, token, observed_at, started_at, installation_hash, subject, attributes_type,
            frequent_pushes_enabled, aliases, aliases_given_at, metadata\(unescaped: hasStarts ? ", starts_at, was_accepted" : ""))
            """
    }

    /// This transaction merged a request into the row of activity `a`. Where a request was refused whole, its outcome,
    /// which the statements after the merge read, is that of an earlier one, or this transaction only doubted its token.
    static let isMerged = isMerged("a")

    /// The same of the row called `row`.
    static func isMerged(_ row: String) -> String {
        "\(row).xmin = pg_current_xact_id()::xid AND \(row).outcome <> 'doubted'"
    }

    /// Activity, token, time and caller alone, for the statements that need no more.
    var claims: SQL {
        "unnest(\(activityIDs), \(tokens), \(observedAt), \(callers)) AS q (activity_id, token, observed_at, who)"
    }

    /// The requests `q` that the merge before took in, with their activities' rows `a` and their values' `t`. Each row is
    /// looked up by its key, whatever the planner believes of the tables' sizes: of a table that was never analyzed it
    /// expects few rows, and would compare all of them with all requests.
    func merged(in scope: Scope) -> SQL {
        """
        \(sql: claims)
        CROSS JOIN LATERAL (
            SELECT m.* FROM activities m
            WHERE \(sql: scope.contains("m"))
                AND m.activity_id = q.activity_id AND \(unescaped: Self.isMerged("m"))
            LIMIT 1
        ) AS a
        LEFT JOIN LATERAL (
            SELECT v.* FROM token_values v
            WHERE \(sql: scope.contains("v"))
                AND v.token_digest = sha256(q.token)
            LIMIT 1
        ) AS t ON true
        """
    }

    /// Those of the requests' activities that are another's than the one who asked, as an array of ids.
    func foreign(in scope: Scope) -> SQL {
        guard isGuarded else { return "'{}'::text[]" }
        return """
            ARRAY(SELECT a.activity_id FROM unnest(\(activityIDs), \(installations), \(subjects))
                    AS q (activity_id, installation_hash, subject)
                CROSS JOIN LATERAL (
                    SELECT n.* FROM activities n WHERE \(sql: scope.contains("n"))
                        AND n.activity_id = q.activity_id
                    LIMIT 1
                ) AS a
                WHERE NOT \(sql: Ownership.permits("a", subject: "q.subject", installation: "q.installation_hash")))
            """
    }
}
