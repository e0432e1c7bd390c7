import ArgumentParser
import RegistryCore
import RegistryStore

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes all that is registered in an app and environment, tokens included, as NDJSON.",
        discussion: """
            Each line is what a client would have said, which pushreg import says again: running activities with their \
            tokens and aliases, ends, installations, log-outs, start, device and widget tokens. Left out are what has expired, \
            values that are dead, quarantined or another's, channels, keys, settings, erasures and the audit trail. The \
            last line is {"end":true,"count":N}; a file without it is incomplete. What is registered meanwhile may be in \
            it or not.
            """
    )

    @OptionGroup var scope: ScopeArguments
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write, which only you may read; standard output if it is - or not given.",
            valueName: "file"
        ),
        completion: .file(extensions: ["ndjson"])
    )
    var output: String?
    @Flag(help: "Goes on with a file whose export was interrupted.") var resume = false

    func run() async throws {
        let output = output == "-" ? nil : output
        guard output != nil || !resume else { throw CommandFailure(.usage, "--resume needs the file: --output FILE.") }
        try await scope.withRegistry { registry, scope in
            var target =
                if let output { try ExportTarget(output, resumes: resume, for: scope) } else {
                    try ExportTarget(standardOutputFor: scope)
                }
            if resume, target.count > 0 { Output.errors.note("Going on after \(target.count) records.") }
            var bar = ProgressBar(countAtStart: target.count)
            while let position = target.position {
                let page = try await registry.exportPage(from: position, in: scope)
                try target.add(page)
                bar.show(position.part.rawValue, page.progress, count: target.count)
            }
            bar.clear()
            try target.close()
            Output.errors.note("Exported \(target.count) \(target.count == 1 ? "record" : "records").")
        }
    }
}
