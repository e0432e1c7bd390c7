/// The rules of start leases, as conditions about a row of `start_leases`: a planner judges by them, and the statement that
/// takes a lease judges the locked row by them once more.
///
/// They ask no clock and no table themselves, for a distributed Postgres sends them to where the row is: what they need comes
/// as expressions.
struct LeaseRules {
    /// The name of the row.
    let row: String
    /// When it is now.
    let now: String
    /// The last registration of an activity that bears the alias on the installation.
    let registeredAt: String
    /// The plan that asks.
    let plan: String

    /// The most starts that are tried within a day.
    static let mostAttempts = 3

    /// How long after a failure no other start is tried: after the first of a day, the second, and the third.
    static let backOffs = ["1 minute", "5 minutes", "15 minutes"]

    /// The activity was there after the lease was taken. All that was tried before counts no more.
    var isAnswered: String { "coalesce(\(registeredAt) > \(row).leased_at, false)" }

    /// It runs. What ended it since the planner's transaction began has ended it at a later time than `now`.
    private var isLive: String {
        "(\(row).leased_until > \(now) AND \(row).failed_at IS NULL AND \(row).released_at IS NULL)"
    }

    /// The same plan asks again, while the lease is live.
    var isRepeated: String { "(NOT \(isAnswered) AND \(isLive) AND coalesce(\(row).plan_id = \(plan), false))" }

    /// Another planner has it.
    var isTaken: String {
        "(NOT \(isAnswered) AND \(isLive) AND NOT coalesce(\(row).plan_id = \(plan), false))"
    }

    /// As many starts were tried within a day as may be. A distributed Postgres takes a difference for a matter of the time zone
    /// unless it is made without one.
    var isExhausted: String {
        """
        (NOT \(isAnswered) AND NOT \(isLive) AND cardinality(\(row).attempted_at) >= \(Self.mostAttempts)
        AND \(row).attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > \(now) AT TIME ZONE 'UTC')
        """
    }

    /// A start failed so lately that it is too early for another.
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
