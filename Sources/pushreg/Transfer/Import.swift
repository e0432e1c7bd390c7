import ArgumentParser
import RegistryCore
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
            let place = faulty > 0 ? "they are listed above" : "the interrupted import listed them"
            throw CommandFailure(.failed, "Some lines are not records; \(place).")
        }
    }

    private func report(_ tally: ImportTally) throws {
        for sentence in tally.unnamed { Output.errors.note(sentence) }
        if scope.json { try Output.results.line(tally.jsonLine) }
        let records = "\(tally.count) \(tally.count == 1 ? "record" : "records")"
        Output.errors.note(
            dryRun
                ? "Read \(records), and wrote nothing: \(tally.drySentence)"
                : "Imported \(records): \(tally.sentence)"
        )
    }

    private func take(_ source: inout ImportSource, _ registry: Registry, _ scope: Scope) async throws -> ImportTally {
        var (tally, bar) = (ImportTally(), ProgressBar())
        // Plans for empty tables become slow as an import fills them.
        var nextPlan = 1000
        defer { bar.clear() }
        while case let chunk = try source.next(), !chunk.isEmpty {
            let last = source.lineNumber
            let outcomes: [LineOutcome]
            do {
                outcomes = try await registry.take(chunk, isDry: dryRun, in: scope)
            } catch let problem as Problem {
                bar.clear()
                let failure = CommandFailure(problem)
                throw CommandFailure(
                    failure.status,
                    "\(failure.sentence) The lines before \(chunk[0].number) are imported; run the same command again to continue."
                )
            }
            for (line, outcome) in zip(chunk, outcomes) {
                guard let sentence = tally.add(outcome, ofLine: line.number) else { continue }
                bar.clear()
                Output.errors.note(sentence)
            }
            source.settle(faulty: tally.faulty)
            if tally.count >= nextPlan, !dryRun {
                // After a failure the import is only slower, or the next lines report the cause.
                try? await registry.analyzeTables()
                nextPlan *= 10
            }
            bar.show("line \(last)", source.fraction, count: tally.count)
        }
        return tally
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
}
