import PostgresDriver
import RegistryCore

/// Where the rows stand that a batch of reports has locked.
///
/// Nobody else can move a locked row, so the statements that judge and write find it by its place: to walk down the index
/// of a large table costs more than to write the row. A place is Postgres's `ctid`, as text.
struct FeedbackPlaces {
    private var values: [[UInt8]: (activityID: ActivityID?, place: String)] = [:]
    private var activities: [ActivityID: String] = [:]

    /// Takes the result of ``FeedbackStatements/lockValues``.
    mutating func add(values result: PostgresResult) throws {
        values.reserveCapacity(result.count)
        for row in result.rows {
            let (digest, activityID, place) = try row.decode([UInt8].self, ActivityID?.self, String.self)
            values[digest] = (activityID, place)
        }
    }

    /// Takes the result of ``FeedbackStatements/lockActivities`` or ``FeedbackStatements/lock(_:)``.
    mutating func add(activities result: PostgresResult) throws {
        activities.reserveCapacity(result.count)
        for row in result.rows {
            let (id, place) = try row.decode(ActivityID.self, String.self)
            activities[id] = place
        }
    }

    /// The activities of values that are not among the locked ones: the values went over to them while the locks were
    /// taken, or they are long gone.
    var missingActivities: [ActivityID] {
        Set(values.values.lazy.compactMap(\.activityID)).filter { activities[$0] == nil }.sorted()
    }

    /// The row of a token value; nil when there is none.
    func value(of digest: [UInt8]) -> String? { values[digest]?.place }

    /// The row of the activity that a token value belongs to; nil when there is none, or none was locked.
    func activity(of digest: [UInt8]) -> String? { values[digest]?.activityID.flatMap { activities[$0] } }
}
