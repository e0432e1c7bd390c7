import Foundation
import PostgresDriver
import RegistryCore

extension InstallationRecord {
    /// Reads the columns of ``InstallationStatements/record``.
    init(_ row: PostgresRow, of installation: InstallationHash) throws {
        self.init(
            installation: installation,
            isFlapping: try row.column(8, as: Bool.self),
            touchedAt: try row.column(7, as: Date.self)
        )
        subject = try row.column(0, as: UTF8Text?.self)
        aliases = try row.column(1, as: JSONB?.self)?.bytes
        metadata = try row.column(2, as: JSONB?.self)?.bytes
        aliasesObservedAt = try row.column(3, as: Date?.self)
        metadataObservedAt = try row.column(4, as: Date?.self)
        fullStateAt = try row.column(5, as: Date?.self)
        loggedOutAt = try row.column(6, as: Date?.self)
    }
}

extension InstallationRecord.Token {
    /// Reads the columns of ``InstallationStatements/tokens``.
    init(_ row: PostgresRow) throws {
        let (kind, attributesType, fingerprint, observedAt, confirmedAt, reason) = try row.decode(
            String.self,
            UTF8Text?.self,
            [UInt8].self,
            Date.self,
            Date.self,
            String?.self
        )
        self.init(
            kind: kind,
            attributesType: attributesType,
            fingerprint: fingerprint,
            observedAt: observedAt,
            confirmedAt: confirmedAt,
            reason: reason
        )
    }
}
