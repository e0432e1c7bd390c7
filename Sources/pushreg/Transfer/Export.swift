import ArgumentParser
import RegistryCore
import RegistryStore

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes all registrations of an app and environment, including tokens, as NDJSON.",
        discussion: """
            Each line corresponds to a client's request, and pushreg import repeats it: running activities with their \
            tokens and aliases, ends, installations, log-outs, and start, device and widget tokens. The file leaves out \
            expired records, values that are dead, quarantined or taken over, channels, keys, settings, erasures and the \
            audit trail. The last line is {"end":true,"count":N}; a file without it is incomplete. Registrations made during \
            the export may be missing.
            """
    )

    @OptionGroup var scope: ScopeArguments
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write, readable only by you; standard output if it is - or not given.",
            valueName: "file"
        ),
        completion: .file(extensions: ["ndjson"])
    )
    var output: String?
    @Flag(help: "Continues an interrupted export.") var resume = false

    func run() async throws {
        let output = output == "-" ? nil : output
        guard output != nil || !resume else { throw CommandFailure(.usage, "--resume needs the file: --output FILE.") }
        try await scope.withRegistry { registry, scope in
            var target =
                if let output { try ExportTarget(output, resumes: resume, for: scope) } else {
                    try ExportTarget(standardOutputFor: scope)
                }
            if resume, target.count > 0 { Output.errors.note("Continuing after \(target.count) records.") }
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
