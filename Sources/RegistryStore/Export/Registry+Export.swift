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
            case .installations: try position.readInstallations(in: scope, session)
            case .names: try position.readNames(in: scope, session)
            case .activities, .tokens: try position.readNumbered(in: scope, session)
            }
        }
    }
}

extension ExportPosition {
    fileprivate func readNumbered(in scope: Scope, _ session: borrowing PostgresSession) throws -> ExportPage {
        let kinds = part.kinds(of: scope.app)
        let index = kinds.firstIndex { UTF8Text($0.name) == after.first } ?? 0
        let (kind, start) = (kinds[index], after.last.flatMap { Int64($0.string) } ?? 0)
        let find = NumberRange.find(of: kind, after: start, size: Registry.exportPageSize, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        let end = range.last ?? start
        let values: QueryValues = ["scope": scope.id, "after": start, "through": end]
        let records =
            kind == .update
            ? try session.run("export.read-activities", values).decode(ExportedActivity.self).flatMap(\.records)
            : try session.run("export.read-tokens", values + ["kind": kind.name]).decode { row in
                let slot = TokenSlot(of: kind, try row["attributes_type"])
                let registration = TokenRegistration(token: try row["token"], observedAt: try row["observed_at"])
                return TransferRecord.token(slot, try row["installation_hash"], registration)
            }
        let isLast = range.count < Registry.exportPageSize
        let next = isLast ? kinds.dropFirst(index + 1).first : kind
        let key = next.map { [UTF8Text($0.name), "\(isLast ? 0 : end)"] }
        let share: Double =
            if let end = range.last, let first = range.firstOfAll, let last = range.lastOfAll {
                Double(end - first + 1) / Double(last - first + 1)
            } else {
                1
            }
        return page(records, upTo: key, progress: (Double(index) + share) / Double(kinds.count))
    }

    fileprivate func readInstallations(in scope: Scope, _ session: borrowing PostgresSession) throws -> ExportPage {
        let last = after.first.flatMap { Hexadecimal.decode($0.string) } ?? []
        let values: QueryValues = ["scope": scope.id, "after": last, "limit": Registry.exportPageSize]
        let rows = try session.run("export.read-installations", values).decode(ExportedInstallation.self)
        let end = rows.count < Registry.exportPageSize ? nil : rows.last?.hash
        let progress = end.flatMap(\.bytes.first).map { Double($0) / 256 }
        return page(rows.flatMap(\.records), upTo: end.map { ["\($0)"] }, progress: progress ?? 1)
    }

    fileprivate func readNames(in scope: Scope, _ session: borrowing PostgresSession) throws -> ExportPage {
        let size = Registry.exportPageSize
        let values: QueryValues = [
            "scope": scope.id, "alias": after.first ?? "", "owner": after.last ?? "", "limit": size,
        ]
        let rows = try session.run("export.read-names", values).decode { row in
            let (alias, owner): (UTF8Text, UTF8Text) = (try row["alias"], try row["owner"])
            return (alias: alias, owner: owner, endedAt: try row["ended_at"] as Date?)
        }
        let records = try rows.compactMap { alias, owner, endedAt in
            try endedAt.map { TransferRecord.namedEnd(alias, try ActivityOwner(stored: owner), at: $0) }
        }
        let end = rows.count < size ? nil : rows.last
        return page(records, upTo: end.map { [$0.alias, $0.owner] }, progress: end == nil ? 1 : nil)
    }

    /// - Parameter key: of the page's last row; nil at the end of the part.
    private func page(_ records: [TransferRecord], upTo key: [UTF8Text]?, progress: Double?) -> ExportPage {
        let next =
            key.map { ExportPosition(part: part, after: $0) } ?? part.next.map { ExportPosition(part: $0, after: []) }
        return ExportPage(records: records, next: next, progress: progress)
    }
}
