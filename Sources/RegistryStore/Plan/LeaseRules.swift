/// The rules of start leases, as conditions about a row of `start_leases`: the planner applies them, and the statement
/// that takes a lease applies them again to the locked row.
///
/// All inputs are expressions, without a clock or a table, because a distributed Postgres sends the conditions to the
/// row's node.
struct LeaseRules {
    let row: String
    let now: String
    let registeredAt: String
    let plan: String
    static let mostAttempts = 3

    /// The pause after the first, second and third failure of a day.
    static let backOffs = ["1 minute", "5 minutes", "15 minutes"]

    /// The activity was registered after the lease was taken. Earlier attempts no longer count.
    var isAnswered: String { "coalesce(\(registeredAt) > \(row).leased_at, false)" }

    /// It runs. An end since the start of the planner's transaction has a later time than `now`.
    private var isLive: String {
        "(\(row).leased_until > \(now) AND \(row).failed_at IS NULL AND \(row).released_at IS NULL)"
    }

    var isRepeated: String { "(NOT \(isAnswered) AND \(isLive) AND coalesce(\(row).plan_id = \(plan), false))" }

    var isTaken: String {
        "(NOT \(isAnswered) AND \(isLive) AND NOT coalesce(\(row).plan_id = \(plan), false))"
    }

    /// The number of starts within a day is at its limit. A distributed Postgres takes a difference for a matter of the
    /// time zone unless it is made without one.
    var isExhausted: String {
        """
        (NOT \(isAnswered) AND NOT \(isLive) AND cardinality(\(row).attempted_at) >= \(Self.mostAttempts)
        AND \(row).attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > \(now) AT TIME ZONE 'UTC')
        """
    }

    var isBackingOff: String {
        "(NOT \(isAnswered) AND NOT \(isLive) AND coalesce(\(row).retry_at > \(now), false))"
    }

    /// The number of the last attempt among those of the day before a time.
    static func attempt(of row: String, before time: String) -> String {
        """
        (SELECT count(*) FROM unnest(\(row).attempted_at) AS attempts (began_at)
        WHERE attempts.began_at > \(time) - interval '24 hours')
        """
    }
}
