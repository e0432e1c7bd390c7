/// A command of the documentation that the tests do not run.
struct UntriedCommand {
    /// How the command begins.
    let beginning: String
    let reason: String
    /// Whether something else runs it; otherwise the page says that it is untested.
    var runsElsewhere = false

    /// All of them. A command that is neither here nor run makes a test fail, and so does one here that no page has.
    static let all = [
        UntriedCommand(beginning: "deploy/test", reason: "it runs this test", runsElsewhere: true),
        UntriedCommand(beginning: "swift test", reason: "deploy/test runs it", runsElsewhere: true),
        UntriedCommand(
            beginning: "export DATABASE_URL='postgresql://registry@db1,db2",
            reason:
                "two servers of Postgres with certificates of their own; TLSTests and HostTests of the driver try each"
        ),
        UntriedCommand(beginning: "DATABASE_URL+='&sslmode=verify-full", reason: "the same"),
        UntriedCommand(
            beginning: "deploy/package",
            reason: "Tests/Laboratory/containers/run runs it",
            runsElsewhere: true
        ),
        UntriedCommand(
            beginning: "sudo apt install ",
            reason: "Tests/Laboratory/containers/run does the same",
            runsElsewhere: true
        ),
        UntriedCommand(
            beginning: "runuser -u pushreg ",
            reason: "Tests/Laboratory/containers/run runs it",
            runsElsewhere: true
        ),
        UntriedCommand(
            beginning: "sudo systemctl ",
            reason: "Tests/Laboratory/containers/run does the same",
            runsElsewhere: true
        ),
        UntriedCommand(
            beginning: "docker build ",
            reason:
                "Tests/Laboratory/containers/run builds its second stage; the first, a build of the whole, was run by hand",
            runsElsewhere: true
        ),
        UntriedCommand(
            beginning: "docker ",
            reason: "Tests/Laboratory/containers/run does the same",
            runsElsewhere: true
        ),
        UntriedCommand(beginning: "kubectl ", reason: "there is no cluster where the tests run"),
        UntriedCommand(beginning: "printf %s 'postgresql://pushreg:PASSWORD", reason: "the same"),
    ]

    static func matching(_ command: DocumentedCommand) -> UntriedCommand? {
        all.first { command.text.hasPrefix($0.beginning) }
    }
}
