import PostgresDriver
import RegistryCore

/// The places of the rows that a batch of reports has locked.
///
/// No other transaction can move a locked row, so the statements that judge and write find it by its place: descending
/// the index of a large table costs more than writing the row. A place is Postgres's `ctid`, as text.
struct FeedbackPlaces {
    private var values: [[UInt8]: (activityID: ActivityID?, place: String)] = [:]
    private var activities: [ActivityID: String] = [:]

    /// Reads the result of ``FeedbackStatements/lockValues``.
    mutating func add(values result: PostgresResult) throws {
        values.reserveCapacity(result.count)
        for row in result.rows {
            let (digest, activityID, place) = try row.decode([UInt8].self, ActivityID?.self, String.self)
            values[digest] = (activityID, place)
        }
    }

    /// Reads the result of ``FeedbackStatements/lockActivities`` or ``FeedbackStatements/lock(_:)``.
    mutating func add(activities result: PostgresResult) throws {
        activities.reserveCapacity(result.count)
        for row in result.rows {
            let (id, place) = try row.decode(ActivityID.self, String.self)
            activities[id] = place
        }
    }

    /// Activities of values that are not among the locked ones: they got the values while the locks were taken, or are
    /// long gone.
    var missingActivities: [ActivityID] {
        Set(values.values.lazy.compactMap(\.activityID)).filter { activities[$0] == nil }.sorted()
    }

    func value(of digest: [UInt8]) -> String? { values[digest]?.place }
    func activity(of digest: [UInt8]) -> String? { values[digest]?.activityID.flatMap { activities[$0] } }
}
