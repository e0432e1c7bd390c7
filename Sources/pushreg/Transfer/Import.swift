import ArgumentParser
import RegistryCore
import RegistryRules
import RegistryStore

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Imports a file of pushreg export, or other NDJSON.",
        discussion: """
            Each line follows the rules of its request: an observation older than the stored record is refused, an \
            ended activity stays ended, and a line that is imported twice counts once. You can therefore interrupt and \
            repeat an import. FILE.imported keeps the position in a file, and the next import continues there. Refused and \
            faulty lines are listed on standard error, the first ten of each kind. The exit code is 1 if a line was \
            faulty. Each line of other NDJSON is \
            {"activityId", "token", "observedAt"}, with the other fields of the body of a registration, and "subject"; \
            observedAt is required.
            """
    )

    @OptionGroup var scope: ScopeArguments
    @Argument(help: "The file, or - for standard input.", completion: .file(extensions: ["ndjson"])) var file: String
    @Flag(help: "Reads and counts the lines, and writes nothing.") var dryRun = false
    @Flag(help: "Starts from the first line, even after an interrupted import of the file.") var restart = false

    // The long timeout only delays this import. Statements of different connections share flushes of Postgres's log, so
    // more connections are faster.
    private static let limits = ConnectionLimits(maximumConnections: 16, requestTimeout: .seconds(60))

    func run() async throws {
        let (faulty, faultyBefore) = try await scope.withRegistry(limits: Self.limits) { registry, scope in
            var source = try ImportSource(file, restarts: restart, isDry: dryRun, for: scope)
            defer { source.close() }
            if source.linesBefore > 0 { Output.errors.note("Continuing after line \(source.linesBefore).") }
            let tally = try await take(&source, registry, scope)
            try report(tally)
            try source.finish()
            return (tally.faulty, source.faultyBefore)
        }
        guard faulty + faultyBefore == 0 else {
            let former = "the interrupted import listed them; correct them and repeat with --restart"
            let place = faulty > 0 ? "they are listed above" : former
            throw CommandFailure(.failed, "Some lines are not records; \(place).")
        }
    }

    private func report(_ tally: ImportTally) throws {
        for sentence in tally.unnamed { Output.errors.note(sentence) }
        if scope.json { try Output.results.line(tally.jsonLine) }
        let records = tally.count.of("record")
        let (taken, refused) = (tally.taken, tally.refused.values.reduce(0, +))
        Output.errors.note(
            dryRun
                ? "Read \(records), and wrote nothing: \(taken) could be taken, \(tally.faulty) faulty."
                : "Imported \(records): \(taken) taken, \(refused) refused by the rules, \(tally.faulty) faulty."
        )
    }

    private func take(_ source: inout ImportSource, _ registry: Registry, _ scope: Scope) async throws -> ImportTally {
        var (tally, progress) = (ImportTally(), ProgressLine())
        // Plans for empty tables become slow as an import fills them.
        var nextPlan = 1000
        defer { progress.clear() }
        while case let chunk = try source.next(), !chunk.isEmpty {
            let last = source.lines.number
            let outcomes: [LineOutcome]
            do {
                outcomes = try await registry.take(chunk, isDry: dryRun, in: scope)
            } catch let problem as Problem {
                progress.clear()
                let failure = CommandFailure(problem)
                throw CommandFailure(
                    failure.status,
                    "\(failure.sentence) The lines before \(chunk[0].number) are imported; run the same command again to continue."
                )
            }
            for (line, outcome) in zip(chunk, outcomes) {
                guard let sentence = tally.add(outcome, ofLine: line.number) else { continue }
                progress.clear()
                Output.errors.note(sentence)
            }
            source.settle(faulty: tally.faulty)
            if tally.count >= nextPlan, !dryRun {
                // After a failure the import is only slower, or the next lines report the cause.
                try? await registry.analyzeTables()
                nextPlan *= 10
            }
            progress.show("line \(last)", source.fraction, count: tally.count)
        }
        return tally
    }
}

struct ImportedLine: Sendable {
    let number: Int
    /// Without the newline. Nil if the line is too long.
    let text: [UInt8]?

    /// - Throws: the fault. It contains no text of the line except names of documented members.
    func record(in app: App) throws(JSONFaultReason) -> TransferRecord {
        guard let text else { throw JSONFaultReason("It is longer than \(LineReader.maximumLine / 1024) KiB.") }
        let value: JSONValue
        do {
            value = try JSONParser.parse(text, maximumDepth: JSONParser.deepestNesting)
        } catch { throw JSONFaultReason("It is not JSON: \(error.description)") }
        var json = JSONReader(value)
        let record = TransferRecord.read(&json, kinds: app.settings.allTokenKinds) {
            InstallationHash(of: $0, in: app.bundleID)
        }
        guard let record else {
            let fault = json.faults.first
            let names = fault?.pointer.split(separator: "/") ?? []
            // Only the first member of the pointer, because later keys come from the input.
            let member = names.first.map { "\(names.count > 1 ? "A member of " : "")\"\($0)\"" } ?? "It"
            throw JSONFaultReason("\(member) \(fault?.detail ?? "is not a record").")
        }
        return record
    }
}

extension Registry {
    /// Applies the lines concurrently, so that they can share statements and commits.
    fileprivate func take(_ lines: [ImportedLine], isDry: Bool, in scope: Scope) async throws -> [LineOutcome] {
        try await withThrowingTaskGroup(of: (Int, LineOutcome).self) { group in
            for (index, line) in lines.enumerated() {
                group.addTask { (index, try await self.take(line, isDry: isDry, in: scope)) }
            }
            var outcomes: [Int: LineOutcome] = [:]
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return lines.indices.compactMap { outcomes[$0] }
        }
    }

    /// Applies a line by the rules of the equivalent request.
    ///
    /// - Parameter isDry: Only reads the line. A line that can be read counts as taken.
    /// - Throws: ``Problem`` if the registry is unavailable and the import must stop.
    func take(_ line: ImportedLine, isDry: Bool, in scope: Scope) async throws -> LineOutcome {
        do {
            let record = try line.record(in: scope.app)
            if !isDry { try await take(record, in: scope, by: Apps.who) }
            return .taken
        } catch let reason as JSONFaultReason {
            return .faulty(reason.detail)
        } catch let problem as Problem {
            switch problem.code.status {
            case 403, 409, 410: return .refused(problem)
            case 400, 422:
                let reason = problem.errors.isEmpty ? " \(problem.detail)" : problem.errorSentences
                return .faulty("\(problem.code.rawValue):\(reason)")
            default: throw problem
            }
        }
    }

    private func take(_ record: TransferRecord, in scope: Scope, by who: UTF8Text) async throws {
        switch record {
        case .activity(let id, let registration):
            _ = try await register(registration, as: id, in: scope, by: who)
        case .named(let alias, let registration):
            _ = try await register(registration, alias: alias, owner: registration.owner, in: scope, by: who)
        case .end(let id, let reason, let time):
            try await end(id, reason: reason, observedAt: time, in: scope, by: who)
        case .namedEnd(let alias, let owner, let time):
            try await end(alias: alias, owner: owner, reason: .ended, observedAt: time, in: scope, by: who)
        case .installation(let installation, let profile, let subject):
            let claimant = subject.map { Claimant.subject($0, installation) } ?? .any
            _ = try await put(profile, for: installation, in: scope, by: who, claimant: claimant)
        case .logOut(let installation, let time):
            try await logOut(installation, observedAt: time, in: scope, by: who)
        case .token(let slot, let installation, let registration):
            _ = try await register(registration, in: slot, of: installation, in: scope, by: who)
        }
    }
}

enum LineOutcome: Sendable {
    case taken
    /// Well-formed, but rejected by a rule, for example because newer state exists.
    case refused(Problem)
    /// Malformed.
    case faulty(String)
}

struct ImportTally: Sendable, JSONObjectEncodable {
    private(set) var taken = 0
    private(set) var refused: [String: Int] = [:]
    private(set) var faulty = 0
    private var kinds: [String: Int] = [:]

    /// Further lines of a kind are only counted.
    private static let mostOfKind = 10

    var count: Int { taken + refused.values.reduce(0, +) + faulty }

    /// - Returns: The fault or refusal, without a token. Nil for a taken line, and after ten of a kind.
    mutating func add(_ outcome: LineOutcome, ofLine number: Int) -> String? {
        switch outcome {
        case .taken:
            taken += 1
            return nil
        case .refused(let problem):
            refused[problem.code.rawValue, default: 0] += 1
            return sentence("\(problem.code.rawValue): \(problem.detail)", ofLine: number)
        case .faulty(let reason):
            faulty += 1
            return sentence(reason, ofLine: number)
        }
    }

    private mutating func sentence(_ reason: String, ofLine number: Int) -> String? {
        let kind = String(reason.prefix { $0 != ":" })
        kinds[kind, default: 0] += 1
        return kinds[kind, default: 0] > Self.mostOfKind ? nil : "line \(number): \(reason)"
    }

    /// One sentence per kind with the number of lines that `add` did not report.
    var unnamed: [String] {
        kinds.filter { $0.value > Self.mostOfKind }.sorted { $0.key < $1.key }.map { kind, count in
            "\((count - Self.mostOfKind).of("more line")): \(kind)"
        }
    }

    func writeMembers(to json: inout JSONWriter) {
        json.member("taken", taken)
        json.object("refused") { json in
            for (code, count) in refused.sorted(by: { $0.key < $1.key }) { json.member(code, count) }
        }
        json.member("faulty", faulty)
    }
}
