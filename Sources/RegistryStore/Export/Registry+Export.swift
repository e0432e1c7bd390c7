import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// The next page of an export. Between pages nothing is held, so an export may take its time; a row that is written
    /// meanwhile is read before or after, never half.
    ///
    /// Left out is what nobody may be handed any more: expired and dismissed activities, deleted tokens, and values that
    /// are dead, quarantined or another's.
    public func exportPage(from position: ExportPosition, in scope: Scope) async throws -> ExportPage {
        let statements = ExportStatements(scope: scope)
        return try await read { session in
            switch position.part {
            case .installations: try Self.installations(position, statements, session)
            case .names: try Self.names(position, statements, session)
            case .activities:
                try Self.numbered(position, .activities, statements, session) { try ExportedActivity($0).records }
            case .startTokens:
                try Self.numbered(position, .startTokens, statements, session) { [try TransferRecord(startToken: $0)] }
            case .deviceTokens:
                try Self.numbered(position, .deviceTokens, statements, session) {
                    [try TransferRecord(deviceToken: $0)]
                }
            }
        }
    }

    /// A page of a table whose rows have immutable numbers.
    private static func numbered(
        _ position: ExportPosition,
        _ part: ExportPart,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession,
        _ records: (PostgresRow) throws -> [TransferRecord]
    ) throws -> ExportPage {
        let start = position.after.first.flatMap(Int64.init) ?? 0
        let (end, count, first, last) = try session.execute(statements.stretch(of: part, after: start))[0]
            .decode(Int64?.self, Int.self, Int64?.self, Int64?.self)
        guard let end, let first, let last else { return page([], after: position, isLast: true, progress: 1) }
        let rows = try session.execute(statements.rows(of: part, after: start, through: end)).rows
        return page(
            try rows.flatMap(records),
            after: ExportPosition(part: part, after: ["\(end)"]),
            isLast: count < ExportStatements.pageSize,
            progress: Double(end - first + 1) / Double(last - first + 1)
        )
    }

    private static func installations(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let last = position.after.first.flatMap(Hexadecimal.decode) ?? []
        let rows = try session.execute(statements.installations(after: last)).rows.map(ExportedInstallation.init)
        guard let end = rows.last?.hash else { return page([], after: position, isLast: true, progress: 1) }
        return page(
            rows.flatMap(\.records),
            after: ExportPosition(part: .installations, after: [end.description]),
            isLast: rows.count < ExportStatements.pageSize,
            // Hashes are spread evenly.
            progress: Double(end.bytes.first ?? 0) / 256
        )
    }

    private static func names(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let (alias, owner) = (position.after.first ?? "", position.after.last ?? "")
        let rows = try session.execute(statements.names(after: alias, owner)).rows.map { row in
            try row.decode(String.self, String.self, Date?.self)
        }
        guard let end = rows.last else { return page([], after: position, isLast: true, progress: 1) }
        let records = try rows.compactMap { alias, owner, endedAt in
            try endedAt.map { TransferRecord.namedEnd(alias, try ActivityOwner(stored: owner), at: $0) }
        }
        return page(
            records,
            after: ExportPosition(part: .names, after: [end.0, end.1]),
            isLast: rows.count < ExportStatements.pageSize,
            progress: nil
        )
    }

    private static func page(
        _ records: [TransferRecord],
        after position: ExportPosition,
        isLast: Bool,
        progress: Double?
    ) -> ExportPage {
        let next = isLast ? position.part.next.map { ExportPosition(part: $0, after: []) } : position
        return ExportPage(records: records, next: next, progress: progress)
    }
}
