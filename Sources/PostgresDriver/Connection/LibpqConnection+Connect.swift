import CLibpq
import Foundation
import Logging

extension LibpqConnection {
    /// Tries the hosts one by one, because libpq has no time limit per host here. An unresponsive host uses up only its
    /// share of the time.
    ///
    /// - Parameters:
    ///   - last: the host to try last.
    ///   - time: the time limit for that host.
    /// - Returns: the connection, and an earlier host that did not respond in its share of the time.
    static func connect(
        _ options: ConnectionOptions,
        tryingLast last: ConnectionOptions.Host?,
        for time: Duration,
        until deadline: Deadline,
        logger: Logger
    ) throws(PostgresError) -> (link: LibpqConnection, skipped: ConnectionOptions.Host?) {
        var options = options
        if options.hosts.isEmpty {
            let link = try start(options, on: nil, logger: logger)
            // A service file or the environment may name several hosts.
            options = ConnectionOptions(of: try link.open()) ?? options
            guard options.hosts.count > 1 else {
                try link.establish(until: deadline)
                link.server = options.hosts.first
                return (link, nil)
            }
        }
        let hosts = options.hosts.filter { $0 != last } + options.hosts.filter { $0 == last }
        var failures: [PostgresError] = []
        var skipped: ConnectionOptions.Host?
        for (index, host) in hosts.enumerated() {
            let share = index > 0 && host == last ? time : deadline.remaining / (hosts.count - index)
            let link = try start(options, on: host, logger: logger)
            do throws(PostgresError) {
                try link.establish(until: min(deadline, .after(share)))
                link.server = host
                return (link, skipped)
            } catch {
                guard error.code != .misuse else { throw error }
                if error.code == .deadlineExceeded { skipped = host }
                failures.append(error)
            }
        }
        let causes = failures.compactMap(\.asConnectFailure.message)
        throw PostgresError(
            .connectionFailed,
            Set(causes).count == 1 ? causes[0] : causes.joined(separator: "; "),
            outcome: .nothingTookEffect,
            sqlState: failures.compactMap(\.sqlState).last
        )
    }

    private static func start(
        _ options: ConnectionOptions,
        on host: ConnectionOptions.Host?,
        logger: Logger
    ) throws(PostgresError) -> LibpqConnection {
        let keywords = options.keywords(for: host)
        let pointer = withCStrings(Array(keywords.keys)) { names in
            withCStrings(Array(keywords.values)) { values in PQconnectStartParams(names, values, 0) }
        }
        guard let pointer else { throw PostgresError(.connectionFailed, "out of memory", outcome: .nothingTookEffect) }
        return LibpqConnection(started: pointer, logger: logger)
    }

    /// See libpq's PQconnectStartParams. Its connect_timeout does not apply.
    private func establish(until deadline: Deadline) throws(PostgresError) {
        let pointer = try open()
        var next = PQstatus(pointer) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while next != PGRES_POLLING_OK {
            guard next != PGRES_POLLING_FAILED else { throw connectFailure(pointer) }
            let events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT
            try wait(for: events, until: deadline, outcome: .nothingTookEffect)
            next = PQconnectPoll(pointer)
        }
        PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
        let isReady = PQsetnonblocking(pointer, 1) == 0 && PQenterPipelineMode(pointer) == 1
        guard isReady else { throw connectFailure(pointer) }
    }

    private func connectFailure(_ pointer: OpaquePointer) -> PostgresError {
        let lines = ServerMessage.withoutQuotations(PQerrorMessage(pointer)).split(separator: "; ")
        let message = lines.filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "; ")
        // PQERRORS_VERBOSE prints the severity, a colon, two spaces and the SQLSTATE.
        let sqlState = message.matches(of: #/: {2}([0-9A-Z]{5}):/#).last.map { String($0.1) }
        close()
        // libpq checks most values of a connection string only here, before it contacts a server.
        if sqlState == nil, message.hasPrefix("invalid ") || message.hasPrefix("could not match ") {
            // libpq also reads its environment variables.
            let variables = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("PG") }.sorted()
            let places = ["connection string"] + variables
            return PostgresError(.misuse, "\(places.joined(separator: " or ")): \(message)")
        }
        return PostgresError(.connectionFailed, message, outcome: .nothingTookEffect, sqlState: sqlState)
    }
}

private func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { body($0.baseAddress!) }
}
