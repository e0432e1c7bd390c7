import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension TokenSlot {
    /// Empty for kinds of which an installation has one token.
    var typeName: UTF8Text { attributesType?.rawValue ?? "" }
}

/// Conditions shared by the statements about one slot of one installation.
struct TokenSlotRows {
    let slot: TokenSlot
    let statements: InstallationStatements

    var scope: Scope { statements.scope }
    var installation: InstallationHash { statements.installation }
    var isLocked: SQL { statements.isLocked }

    init(slot: TokenSlot, installation: InstallationHash, scope: Scope, claimant: Claimant = .any) {
        self.slot = slot
        statements = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
    }

    func matches(_ row: String) -> SQL {
        """
        \(sql: isOfInstallation(row)) AND \(unescaped: row).kind = \(slot.kind.name)
        AND \(unescaped: row).attributes_type = \(slot.typeName)
        """
    }

    /// The most rows of start tokens of an installation, including remembered deletions. Log-out, the audit and
    /// senders' pages read all of them; an app has a few attributes types.
    static let mostAttributesTypes = 128

    /// The slot's row exists, or there is room for it. The installation is locked, so two cannot both be the last.
    var hasRoom: SQL {
        guard slot.kind.holder == .attributesType else { return "true" }
        return """
            (EXISTS (SELECT FROM installation_tokens known WHERE \(sql: matches("known"))) OR (SELECT count(*) FROM (
                SELECT FROM installation_tokens other WHERE \(sql: isOfInstallation("other"))
                    AND other.kind = \(slot.kind.name) LIMIT \(Self.mostAttributesTypes)
            ) AS others) < \(Self.mostAttributesTypes))
            """
    }

    func refusalFacts(observedAt: Date?) -> SQL {
        statements.refusalFacts(observedAt: observedAt, lacksRoom: "NOT \(sql: hasRoom)")
    }

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

    func isOfInstallation(_ row: String) -> SQL { statements.isOf(row) }

    /// Joins the installation as `i` with a lookup for each row: joined whole, by a plan from a time with few rows, all
    /// installations of the app would be read.
    static func joinInstallation(of row: String, in scope: Scope) -> SQL {
        """
        CROSS JOIN LATERAL (SELECT * FROM installations its WHERE \(sql: scope.contains("its"))
        AND its.installation_hash = \(unescaped: row).installation_hash LIMIT 1) AS i
        """
    }
}
