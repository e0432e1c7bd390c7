import CLibpq
import Foundation
import Logging

extension LibpqConnection {
    /// Tries the hosts in order. An unresponsive host uses up only its share of the time.
    static func connect(
        _ options: ConnectionOptions,
        until deadline: Deadline,
        logger: Logger
    ) throws(PostgresError) -> LibpqConnection {
        var (options, skipped): (ConnectionOptions, ConnectionOptions.Host?) = (options, nil)
        while true {
            let link = try start(options, logger: logger)
            options.learnHosts(of: try link.open())
            switch try link.establish(options, until: deadline) {
            case .established(let index):
                link.skipped = skipped
                link.server = options.hosts.indices.contains(index) ? options.hosts[index] : nil
                return link
            case .unresponsive(let index):
                guard let rest = options.skipping(index), !deadline.isPassed else {
                    throw PostgresError(.connectionFailed, "timeout", outcome: .nothingTookEffect)
                }
                skipped = options.hosts[index]
                options = rest
            }
        }
    }

    private enum Attempt {
        case established(Int)
        /// The index of a host that did not respond in its share of the time.
        case unresponsive(Int)
    }

    private static func start(_ options: ConnectionOptions, logger: Logger) throws(PostgresError) -> LibpqConnection {
        let (names, values) = (options.keywords.map(\.0), options.keywords.map(\.1))
        let pointer = withCStrings(names) { names in
            withCStrings(values) { values in PQconnectStartParams(names, values, 1) }
        }
        guard let pointer else { throw PostgresError(.connectionFailed, "out of memory", outcome: .nothingTookEffect) }
        return LibpqConnection(started: pointer, logger: logger)
    }

    /// See libpq's PQconnectStartParams. Its connect_timeout does not apply.
    private func establish(_ options: ConnectionOptions, until deadline: Deadline) throws(PostgresError) -> Attempt {
        let pointer = try open()
        guard PQstatus(pointer) != CONNECTION_BAD else { throw connectFailure(pointer) }
        var share = Share(options: options, end: deadline, deadline: deadline)
        var next = PGRES_POLLING_WRITING
        while next != PGRES_POLLING_OK {
            guard next != PGRES_POLLING_FAILED else { throw connectFailure(pointer) }
            share.follow(pointer)
            do throws(PostgresError) {
                let events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT
                try wait(for: events, until: share.deadline, outcome: .nothingTookEffect)
            } catch {
                return .unresponsive(share.current)
            }
            next = PQconnectPoll(pointer)
        }
        PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
        let isReady = PQsetnonblocking(pointer, 1) == 0 && PQenterPipelineMode(pointer) == 1
        guard isReady else { throw connectFailure(pointer) }
        return .established(share.current)
    }

    private func connectFailure(_ pointer: OpaquePointer) -> PostgresError {
        let lines = ServerMessage.withoutQuotations(PQerrorMessage(pointer)).split(separator: "; ")
        let message = lines.filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "; ")
        // PQERRORS_VERBOSE prints the severity, a colon, two spaces and the SQLSTATE.
        let sqlState = message.matches(of: #/: {2}([0-9A-Z]{5}):/#).last.map { String($0.1) }
        close()
        // libpq checks most values of a connection string only here, before it contacts a server.
        if sqlState == nil, message.hasPrefix("invalid ") || message.hasPrefix("could not match ") {
            return PostgresError(.misuse, "connection string: \(message)")
        }
        return PostgresError(.connectionFailed, message, outcome: .nothingTookEffect, sqlState: sqlState)
    }
}

private struct Share {
    let options: ConnectionOptions
    let end: Deadline
    var deadline: Deadline
    var current = 0
    var name: [String?] = []

    mutating func follow(_ pointer: OpaquePointer) {
        let hosts = options.hosts
        guard hosts.count > 1 else { return }
        let name = [PQhost(pointer), PQport(pointer)].map { $0.map { String(cString: $0) } }
        guard name != self.name else { return }
        self.name = name
        // A port missing from the string matches every port.
        let host = hosts.firstIndex {
            ($0.host ?? $0.address ?? "") == name[0] && ($0.port == nil || $0.port == name[1])
        }
        current = host ?? current
        let isLast = current == hosts.count - 1
        deadline = min(end, .after((isLast ? options.timeOfLast : nil) ?? end.remaining / (hosts.count - current)))
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
