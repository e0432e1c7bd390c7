import ArgumentParser
import RegistryCore
import RegistryStore

/// `pushreg statements`: what the hot paths send to Postgres, for `Tests/Laboratory/bench`, whose peers send the same.
struct Statements: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the statements of the hot paths, a line of JSON each.",
        shouldDisplay: false
    )

    func run() throws {
        for outline in StatementOutline.all { try Output.results.line(outline.jsonLine) }
    }
}
