import ArgumentParser
import RegistryCore
import RegistryStore

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Takes in a file of pushreg export, or lines of NDJSON made by hand.",
        discussion: """
            Each line goes by the rules of the request that would say it: what was observed earlier than what is known is \
            refused, what has ended stays ended, and a line that is imported twice counts once. So an import may be \
            interrupted and repeated; of a file it goes on where it was, which FILE.imported says. Lines that are refused \
            or faulty are named on standard error, the first ten of each kind. It exits with 1 when a line was faulty. A line made by hand is \
            {"activityId", "token", "observedAt"}, with "startedAt", "startsAt", "installationId", "attributesType", \
            "aliases", "frequentPushesEnabled", "metadata" as in the body of a registration, and "subject"; observedAt is required.
            """
    )

    @OptionGroup var scope: ScopeArguments
    @Argument(help: "The file, or - for standard input.", completion: .file(extensions: ["ndjson"])) var file: String
    @Flag(help: "Reads and counts the lines, and writes nothing.") var dryRun = false
    @Flag(help: "Begins anew, also where an interrupted import of the file could go on.") var restart = false

    // The long timeout only delays this import. Statements of different connections share flushes of Postgres's log, so
    // more connections are faster.
    private static let limits = ConnectionLimits(maximumConnections: 16, requestTimeout: .seconds(60))

    func run() async throws {
        let (faulty, faultyBefore) = try await scope.withRegistry(limits: Self.limits) { registry, scope in
            var source = try ImportSource(file, restarts: restart, isDry: dryRun, for: scope)
            defer { source.close() }
            if source.linesBefore > 0 { Output.errors.note("Going on after line \(source.linesBefore).") }
            let tally = try await take(&source, registry, scope)
            try report(tally)
            try source.finish()
            return (tally.faulty, source.faultyBefore)
        }
        guard faulty == 0 else {
            throw CommandFailure(.failed, "Not all lines are records; they are named above.")
        }
        guard faultyBefore == 0 else {
            throw CommandFailure(.failed, "Not all lines are records; the import that was interrupted named them.")
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
                outcomes =
                    dryRun
                    ? chunk.map { $0.dryOutcome(in: scope.app.bundleID) } : try await registry.take(chunk, in: scope)
            } catch let problem as Problem {
                bar.clear()
                let failure = CommandFailure(problem)
                throw CommandFailure(
                    failure.status,
                    "\(failure.sentence) The lines before \(chunk[0].number) are imported; run the same command again to go on."
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
    fileprivate func take(_ lines: [ImportedLine], in scope: Scope) async throws -> [LineOutcome] {
        try await withThrowingTaskGroup(of: (Int, LineOutcome).self) { group in
            for (index, line) in lines.enumerated() {
                group.addTask { (index, try await self.take(line, in: scope)) }
            }
            var outcomes: [Int: LineOutcome] = [:]
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return lines.indices.compactMap { outcomes[$0] }
        }
    }
}
