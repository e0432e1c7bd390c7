import ArgumentParser
import Configuration
import PostgresDriver

/// The flags that say which database a command works on.
///
/// All are optional and without defaults: else they would beat the environment and the config file.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of a private Postgres, which is made, started and stopped as needed (PUSHREG_EMBEDDED).",
            valueName: "dir"
        ),
        completion: .directory
    )
    var embedded: String?

    @Option(
        help: ArgumentHelp(
            """
            Any libpq connection string (DATABASE_URL). A password in it is better given by the variable: other users \
            of the machine can read the flags of running programs.
            """,
            valueName: "url"
        )
    )
    var databaseUrl: String?

    @Option(
        help: ArgumentHelp(
            "A JSON file of settings, an object with keys such as \"port\" and \"databaseUrl\" (PUSHREG_CONFIG).",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var config: String?

    @Flag(
        help: """
            Works on a Postgres whose fsync or synchronous_commit is off, which may lose acknowledged writes; for tests \
            only (PUSHREG_UNSAFE_DURABILITY).
            """
    )
    var unsafeDurability = false

    @Option(
        help: ArgumentHelp(
            """
            Postgres's plan_cache_mode: force_generic_plan, which plans each statement once, or auto. Unless given it is the \
            one that fits: auto on Citus, else force_generic_plan (PUSHREG_PLAN_CACHE_MODE).
            """,
            valueName: "mode"
        ),
        completion: .list(PlanCacheMode.allCases.map(\.rawValue))
    )
    var planCacheMode: String?

    /// The settings that were given as flags.
    var flags: [Setting: ConfigContent] {
        var flags: [Setting: ConfigContent] = [:]
        flags[.embedded] = embedded.map { .string($0) }
        flags[.databaseUrl] = databaseUrl.map { .string($0) }
        flags[.config] = config.map { .string($0) }
        // A flag that is not there says nothing; it does not say no.
        flags[.unsafeDurability] = unsafeDurability ? .bool(true) : nil
        flags[.planCacheMode] = planCacheMode.map { .string($0) }
        return flags
    }
}
