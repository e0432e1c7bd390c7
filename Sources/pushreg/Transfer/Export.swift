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
            var progress = ProgressLine(countAtStart: target.count)
            while let position = target.position {
                let page = try await registry.exportPage(from: position, in: scope)
                try target.add(page)
                progress.show(position.part.rawValue, page.progress, count: target.count)
            }
            progress.clear()
            try target.close()
            Output.errors.note("Exported \(target.count.of("record")).")
        }
    }
}

struct ExportTarget {
    /// The start of the next page. Nil when the export is complete.
    private(set) var position: ExportPosition? = .start
    private(set) var count = 0
    private let output: Output

    init(standardOutputFor scope: Scope) throws(CommandFailure) {
        output = .results
        try output.line(TransferFrame.header(of: scope).jsonLine)
    }

    /// A file that only its owner can read, because it contains tokens.
    ///
    /// - Parameter resumes: Continues an earlier, incomplete export in the file.
    init(_ path: String, resumes: Bool, for scope: Scope) throws(CommandFailure) {
        let descriptor = try Self.openFile(path, mayExist: resumes)
        output = Output(descriptor: descriptor)
        do throws(CommandFailure) {
            try begin(descriptor, path, scope)
        } catch {
            Foundation.close(descriptor)
            throw error
        }
    }

    /// Truncates the file after its last checkpoint. Writes the header of a new export.
    private mutating func begin(_ descriptor: Int32, _ path: String, _ scope: Scope) throws(CommandFailure) {
        let end = try find(in: LineReader(descriptor), path, scope)
        // The file may be an earlier export with other permissions. Files of other kinds keep their permissions.
        guard fchmod(descriptor, 0o600) == 0 else { throw Self.failure(path, errno) }
        guard ftruncate(descriptor, off_t(end)) == 0, lseek(descriptor, off_t(end), SEEK_SET) == end else {
            throw Self.failure(path, errno)
        }
        if end == 0 { try output.line(TransferFrame.header(of: scope).jsonLine) }
    }

    /// Writes the records of a page and the next checkpoint in one write.
    mutating func add(_ page: ExportPage) throws(CommandFailure) {
        var json = JSONWriter(reservingCapacity: 512 * page.records.count)
        for record in page.records {
            json.value(record)
            json.newline()
        }
        count += page.records.count
        json.value(page.next.map { TransferFrame.checkpoint($0, count: count) } ?? .end(count: count))
        json.newline()
        try output.write(json.bytes)
        position = page.next
    }

    /// Flushes a file to disk and closes it. Standard output stays open.
    func close() throws(CommandFailure) {
        guard output.descriptor != STDOUT_FILENO else { return }
        let isOnDisk = fsync(output.descriptor) == 0
        let code = errno
        Foundation.close(output.descriptor)
        guard isOnDisk else {
            throw CommandFailure(.failed, "The file could not be saved: \(String(cString: strerror(code))).")
        }
    }

    /// Reads an earlier export.
    ///
    /// - Returns: The end of the last checkpoint in bytes. The export overwrites everything after it.
    private mutating func find(in lines: LineReader, _ path: String, _ scope: Scope) throws(CommandFailure) -> Int {
        var (lines, end) = (lines, 0)
        while let line = try lines.next() {
            guard line.isWhole, let text = line.text, let frame = TransferFrame(text) else {
                guard lines.number > 1 else { throw Self.noExport(path, scope) }
                continue
            }
            switch frame {
            case .checkpoint(let position, let count): (self.position, self.count) = (position, count)
            case .end(let count): (position, self.count) = (nil, count)
            case .header: guard frame == .header(of: scope) else { throw Self.noExport(path, scope) }
            }
            end = lines.offset
        }
        return end
    }

    private static func noExport(_ path: String, _ scope: Scope) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(path) is not an export of \(scope.app.bundleID) in \(scope.environment.rawValue), and stays unchanged."
        )
    }

    /// - Throws: A ``CommandFailure`` if the path cannot be opened, or is a device, because `fchmod` would change the
    ///   permissions of the device.
    private static func openFile(_ path: String, mayExist: Bool) throws(CommandFailure) -> Int32 {
        guard !isDevice(path) else {
            throw CommandFailure(.usage, "\(path) is not a regular file. Omit --output to write to standard output.")
        }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (mayExist ? 0 : O_EXCL), 0o600)
        if descriptor < 0, errno == EEXIST {
            throw CommandFailure(.usage, "\(path) already exists. Add --resume to continue it, or remove it.")
        }
        guard descriptor >= 0 else { throw failure(path, errno) }
        return descriptor
    }

    private static func isDevice(_ path: String) -> Bool {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let type = try? FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
        return type.map { $0 != .typeRegular } ?? false
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        switch code {
        case EACCES, EPERM: CommandFailure(.notPermitted, "\(path) may not be written by this user.")
        default: CommandFailure(.failed, "\(path) could not be written: \(String(cString: strerror(code))).")
        }
    }
}
