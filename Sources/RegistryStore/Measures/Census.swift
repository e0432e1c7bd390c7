import RegistryCore

/// How much there is in the registry, of all apps together, as Postgres counted it at one moment.
package struct Census: Sendable, Hashable {
    /// Whether a token is handed out.
    package enum TokenState: String, Sendable, Hashable, CaseIterable {
        /// It is.
        case current
        /// APNs called it bad, and no client has claimed it since.
        case quarantined
        /// Dead, taken over, or of an installation that logged out.
        case withheld
    }

    /// A group of activities that are counted together.
    package struct ActivityGroup: Sendable, Hashable {
        /// The APNs environment of the activities.
        package let environment: APNSEnvironment
        /// The state that the activities are in.
        package let state: ActivityState
    }

    /// A group of tokens that are counted together. Tokens of activities that run are counted, and those of
    /// installations.
    package struct TokenGroup: Sendable, Hashable {
        /// The APNs environment of the tokens.
        package let environment: APNSEnvironment
        /// The name of the kind, such as `update`.
        package let kind: String
        /// Whether the tokens are handed out.
        package let state: TokenState
    }

    /// Activities by environment and state, tombstones among them; estimated where there are many.
    package internal(set) var activities: [ActivityGroup: Int] = [:]
    /// Tokens by environment, kind and state; estimated where there are many.
    package internal(set) var tokens: [TokenGroup: Int] = [:]
    /// For how long the oldest activity has been expired that no sweep has written down yet; zero when there is none.
    package internal(set) var sweepLag: Duration = .zero
    /// How many burst guards are on.
    package internal(set) var activeGuards = 0
    /// How many audit events were ever written, by all instances; those of failed transactions count, too.
    package internal(set) var eventsWritten = 0

    /// Nothing, in every group that there is.
    init() {
        for environment in APNSEnvironment.allCases {
            for state in ActivityState.allCases {
                activities[ActivityGroup(environment: environment, state: state)] = 0
            }
            for kind in TokenKind.all {
                for state in TokenState.allCases {
                    tokens[TokenGroup(environment: environment, kind: kind.name, state: state)] = 0
                }
            }
        }
    }
}
