import Foundation
import PostgresDriver
import RegistryCore

extension TokenSlot {
    /// The value of the column `attributes_type`: empty for kinds that an installation has one of.
    var typeName: UTF8Text { attributesType?.rawValue ?? "" }
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
    func matches(_ row: String) -> SQL {
        """
        \(sql: isOfInstallation(row)) AND \(unescaped: row).kind = \(slot.kind.name)
        AND \(unescaped: row).attributes_type = \(slot.typeName)
        """
    }

    /// The most rows of start tokens that an installation has, deleted ones that are remembered among them. Log-out, the
    /// audit and senders' pages read all of them; an app has a few attributes types.
    static let mostAttributesTypes = 128

    /// The place's row is there, or there is room for it. The installation is locked, so two cannot both be the last.
    var hasRoom: SQL {
        guard slot.kind.holder == .attributesType else { return "true" }
        return """
            (EXISTS (SELECT FROM installation_tokens known WHERE \(sql: matches("known"))) OR (SELECT count(*) FROM (
                SELECT FROM installation_tokens other WHERE \(sql: isOfInstallation("other"))
                    AND other.kind = \(slot.kind.name) LIMIT \(Self.mostAttributesTypes)
            ) AS others) < \(Self.mostAttributesTypes))
            """
    }

    /// Why nothing was written; see ``Refusal``.
    func refusalFacts(observedAt: Date?) -> SQL {
        statements.refusalFacts(observedAt: observedAt, lacksRoom: "NOT \(sql: hasRoom)")
    }

    /// The problem that the caller is told.
    func problem(of refusal: Refusal) -> Problem {
        if case .noRoom = refusal { Self.noRoom } else { refusal.problem }
    }

    private static var noRoom: Problem {
        var problem = Problem(
            .invalidRequest,
            """
            The installation has start tokens of \(mostAttributesTypes) attributes types, those deleted lately among them,
            and no more are taken. Register the types of ActivityAttributes that the app has, by their own names.
            """
        )
        problem.errors = [JSONFault(pointer: "/attributesType", detail: "is one more than an installation may have")]
        return problem
    }

    /// The row called `row` belongs to the installation.
    func isOfInstallation(_ row: String) -> SQL { statements.isOf(row) }

    /// Joins the installation as `i` to the row called `row`, looked up for each row by itself: joined whole, by a plan that
    /// was made while there were few, all installations of the app would be read.
    static func joinInstallation(of row: String, in scope: Scope) -> SQL {
        """
        CROSS JOIN LATERAL (SELECT * FROM installations its WHERE \(sql: scope.contains("its"))
        AND its.installation_hash = \(unescaped: row).installation_hash LIMIT 1) AS i
        """
    }
}
