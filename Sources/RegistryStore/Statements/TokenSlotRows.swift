import Foundation
import PostgresDriver
import RegistryCore

extension TokenSlot {
    /// The table that holds the row of this place, and its key beside app, environment and installation.
    var table: String { kind.holder == .attributesType ? "start_tokens" : "device_tokens" }
    var keyColumn: String { kind.holder == .attributesType ? "attributes_type" : "kind" }
    var key: String { attributesType?.rawValue ?? kind.name }
    /// The view of the rows that are handed out.
    var view: String { "current_\(table)" }
    /// Between installations a value of this kind has one owner (R7); start tokens may repeat.
    var hasOneOwner: Bool { kind.holder == .installation }
}

/// Conditions that the statements about one place of one installation share.
struct TokenSlotRows {
    let slot: TokenSlot
    let statements: InstallationStatements

    var scope: Scope { statements.scope }
    var installation: InstallationHash { statements.installation }
    /// The installation's lock was got; see ``InstallationStatements/isLocked``.
    var isLocked: SQL { statements.isLocked }

    init(slot: TokenSlot, installation: InstallationHash, scope: Scope, claimant: Claimant = .any) {
        self.slot = slot
        statements = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
    }

    /// The row called `row` is that of the place.
    func isIt(_ row: String) -> SQL {
        """
        \(sql: isOfInstallation(row)) AND \(unescaped: row).\(unescaped: slot.keyColumn) = \(slot.key)
        """
    }

    /// The row called `row` belongs to the installation.
    func isOfInstallation(_ row: String) -> SQL { statements.isOf(row) }

    /// Joins the installation as `i` to the row called `row`.
    static func joinInstallation(of row: String, as name: String = "i") -> String {
        """
        JOIN installations \(name) ON \(name).app_number = \(row).app_number \
        AND \(name).environment = \(row).environment AND \(name).installation_hash = \(row).installation_hash
        """
    }
}
