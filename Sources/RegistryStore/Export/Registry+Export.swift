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
            case .activities, .tokens: try Self.numbered(position, statements, session)
            }
        }
    }

    /// A page of rows that have immutable numbers, of one kind.
    private static func numbered(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let kinds = position.part.kinds
        let index = kinds.firstIndex { UTF8Text($0.name) == position.after.first } ?? 0
        let (kind, start) = (kinds[index], position.after.last.flatMap { Int64($0.string) } ?? 0)
        let (end, count, first, last) = try session.execute(statements.range(of: kind, after: start))[0]
            .decode(Int64?.self, Int.self, Int64?.self, Int64?.self)
        let page = statements.rows(of: kind, after: start, through: end ?? start)
        let found = try session.execute(page)
        let records =
            kind == .update
            ? try found.decode(ExportedActivity.columns).flatMap(\.records)
            : try found.decode(TransferRecord.columns(of: kind))
        let isLast = count < ExportStatements.pageSize
        let next = isLast ? kinds.dropFirst(index + 1).first : kind
        let key = next.map { [UTF8Text($0.name), "\(isLast ? 0 : end ?? start)"] }
        let share: Double =
            if let end, let first, let last { Double(end - first + 1) / Double(last - first + 1) } else { 1 }
        return self.page(
            records,
            after: ExportPosition(part: position.part, after: key ?? []),
            isLast: next == nil,
            progress: (Double(index) + share) / Double(kinds.count)
        )
    }

    private static func installations(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let last = position.after.first.flatMap { Hexadecimal.decode($0.string) } ?? []
        let rows = try session.execute(statements.installations(after: last)).decode(ExportedInstallation.columns)
        guard let end = rows.last?.hash else { return page([], after: position, isLast: true, progress: 1) }
        return page(
            rows.flatMap(\.records),
            after: ExportPosition(part: .installations, after: ["\(end)"]),
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
        let rows = try session.execute(statements.names(after: alias, owner))
            .decode(UTF8Text.self, UTF8Text.self, Date?.self)
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
