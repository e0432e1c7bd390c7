struct UntriedCommand {
    let beginning: String
    let reason: String
    /// Whether other tests run it; otherwise the page must mark it as untested.
    var runsElsewhere = false

    /// A test fails for a command that is neither listed here nor run, and for a listed command that is on no page.
    static let all = [
        elsewhere("deploy/test", "it runs this test"), elsewhere("swift test", "deploy/test runs it"),
        UntriedCommand(
            beginning: "export DATABASE_URL='postgresql://registry@db1,db2",
            reason:
                "two servers of Postgres with certificates of their own; TLSTests and HostTests of the driver try each"
        ),
        UntriedCommand(beginning: "DATABASE_URL+='&sslmode=verify-full", reason: "the same"),
        elsewhere("deploy/package", "Tests/Laboratory/containers/run runs it"),
        elsewhere("sudo apt install ", "Tests/Laboratory/containers/run does the same"),
        elsewhere("runuser -u pushreg ", "Tests/Laboratory/containers/run runs it"),
        elsewhere("sudo systemctl ", "Tests/Laboratory/containers/run does the same"),
        // The first stage, a complete build, was run by hand.
        elsewhere("docker build ", "Tests/Laboratory/containers/run builds its second stage"),
        elsewhere("docker ", "Tests/Laboratory/containers/run does the same"),
        UntriedCommand(beginning: "kubectl ", reason: "there is no cluster where the tests run"),
        UntriedCommand(beginning: "printf %s 'postgresql://pushreg:PASSWORD", reason: "the same"),
    ]

    private static func elsewhere(_ beginning: String, _ reason: String) -> UntriedCommand {
        UntriedCommand(beginning: beginning, reason: reason, runsElsewhere: true)
    }

    static func matching(_ command: DocumentedCommand) -> UntriedCommand? {
        all.first { command.text.hasPrefix($0.beginning) }
    }
}
