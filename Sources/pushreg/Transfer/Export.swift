import ArgumentParser
import Foundation
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

    func run() async throws {
        let output = output == "-" ? nil : output
        try await scope.withRegistry { registry, scope in
            var target = try ExportTarget(output, for: scope)
            var progress = ProgressLine()
            try await registry.export(in: scope) { page in
                try target.add(page.records)
                progress.show(page.part, page.progress, count: target.count)
            }
            progress.clear()
            try target.close()
            Output.errors.note("Exported \(target.count.of("record")).")
        }
    }
}

struct ExportTarget {
    private(set) var count = 0
    private let output: Output

    /// A new file that only its owner can read, because it contains tokens; standard output without a path.
    init(_ path: String?, for scope: Scope) throws(CommandFailure) {
        output = if let path { Output(descriptor: try Self.makeFile(path)) } else { .results }
        try output.line(TransferFrame.header(of: scope).jsonLine)
    }

    mutating func add(_ records: [TransferRecord]) throws(CommandFailure) {
        var json = JSONWriter(reservingCapacity: 512 * records.count)
        for record in records {
            json.value(record)
            json.newline()
        }
        count += records.count
        try output.write(json.bytes)
    }

    /// Writes the end, flushes a file to disk and closes it. Standard output stays open.
    func close() throws(CommandFailure) {
        try output.line(TransferFrame.end(count: count).jsonLine)
        guard output.descriptor != STDOUT_FILENO else { return }
        let isOnDisk = fsync(output.descriptor) == 0
        let code = errno
        Foundation.close(output.descriptor)
        guard isOnDisk else {
            throw CommandFailure(.failed, "The file could not be saved: \(String(cString: strerror(code))).")
        }
    }

    private static func makeFile(_ path: String) throws(CommandFailure) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0o600)
        guard descriptor < 0 else { return descriptor }
        throw switch errno {
        case EEXIST: CommandFailure(.usage, "\(path) already exists. Remove it, or name another file.")
        case EACCES, EPERM: CommandFailure(.notPermitted, "\(path) may not be written by this user.")
        case let code: CommandFailure(.failed, "\(path) could not be written: \(String(cString: strerror(code))).")
        }
    }
}
