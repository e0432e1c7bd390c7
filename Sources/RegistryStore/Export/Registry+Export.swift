import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Limits a page of the largest rows to a few megabytes.
    static let exportPageSize = 1000

    /// Holds no lock between pages, so an export may take long. A row written meanwhile is read either before or after
    /// the write.
    ///
    /// Omits withheld data: expired and dismissed activities, deleted tokens, and values that are dead, quarantined or
    /// owned by another.
    package func exportPage(from position: ExportPosition, in scope: Scope) async throws -> ExportPage {
        try await read { session in
            switch position.part {
            case .installations: try Self.installations(position, scope, session)
            case .names: try Self.names(position, scope, session)
            case .activities, .tokens: try Self.numbered(position, scope, session)
            }
        }
    }

    private static func numbered(
        _ position: ExportPosition,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let kinds = position.part.kinds(of: scope.app)
        let index = kinds.firstIndex { UTF8Text($0.name) == position.after.first } ?? 0
        let (kind, start) = (kinds[index], position.after.last.flatMap { Int64($0.string) } ?? 0)
        let find = NumberRange.find(of: kind, after: start, size: exportPageSize, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        let end = range.last ?? start
        let values: QueryValues = ["scope": scope.id, "after": start, "through": end]
        let records =
            kind == .update
            ? try session.run("export.read-activities", values).decode(ExportedActivity.self).flatMap(\.records)
            : try session.run("export.read-tokens", values + ["kind": kind.name]).decode {
                try TransferRecord(kind, $0)
            }
        let isLast = range.count < exportPageSize
        let next = isLast ? kinds.dropFirst(index + 1).first : kind
        let key = next.map { [UTF8Text($0.name), "\(isLast ? 0 : end)"] }
        let share: Double =
            if let end = range.last, let first = range.firstOfAll, let last = range.lastOfAll {
                Double(end - first + 1) / Double(last - first + 1)
            } else {
                1
            }
        return self.page(
            records,
            after: ExportPosition(part: position.part, after: key ?? []),
            isLast: next == nil,
            progress: (Double(index) + share) / Double(kinds.count)
        )
    }

    private static func installations(
        _ position: ExportPosition,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let last = position.after.first.flatMap { Hexadecimal.decode($0.string) } ?? []
        let values: QueryValues = ["scope": scope.id, "after": last, "limit": exportPageSize]
        let rows = try session.run("export.read-installations", values).decode(ExportedInstallation.self)
        guard let end = rows.last?.hash else { return page([], after: position, isLast: true, progress: 1) }
        return page(
            rows.flatMap(\.records),
            after: ExportPosition(part: .installations, after: ["\(end)"]),
            isLast: rows.count < exportPageSize,
            progress: Double(end.bytes.first ?? 0) / 256
        )
    }

    private static func names(
        _ position: ExportPosition,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let (alias, owner) = (position.after.first ?? "", position.after.last ?? "")
        let values: QueryValues = ["scope": scope.id, "alias": alias, "owner": owner, "limit": exportPageSize]
        let rows = try session.run("export.read-names", values).decode { row in
            let (alias, owner): (UTF8Text, UTF8Text) = (try row["alias"], try row["owner"])
            return (alias: alias, owner: owner, endedAt: try row["ended_at"] as Date?)
        }
        guard let end = rows.last else { return page([], after: position, isLast: true, progress: 1) }
        let records = try rows.compactMap { alias, owner, endedAt in
            try endedAt.map { TransferRecord.namedEnd(alias, try ActivityOwner(stored: owner), at: $0) }
        }
        return page(
            records,
            after: ExportPosition(part: .names, after: [end.alias, end.owner]),
            isLast: rows.count < exportPageSize,
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
