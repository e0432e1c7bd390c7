import Foundation
import PostgresDriver
import RegistryCore

/// The views that say which tokens may be handed out, and why others may not.
///
/// The migrations have the one text of each. A view looks rows up by the scope of another row, and a distributed Postgres does
/// not see that it is always the same one. So statements about one scope do not name the view but take its text, with the
/// scope's id in it.
enum VerdictView: String, CaseIterable {
    case activities = "activity_verdicts"
    case currentActivities = "current_activities"
    case installationTokens = "installation_token_verdicts"
    case currentInstallationTokens = "current_installation_tokens"
    case tokenHolders = "token_holders"

    /// The texts, divided at the scope's id.
    private static let pieces = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0, $0.text.components(separatedBy: Self.scope)) }
    )

    private static let scope = "<scope>"

    /// The view's rows of a scope, as a query in parentheses. Its users compare the scope, too: the first rows of the view
    /// may belong to any scope.
    func query(of scope: Int64) -> SQL {
        let pieces = Self.pieces[self] ?? []
        let text = pieces.dropFirst().reduce("\(unescaped: pieces[0])" as SQL) { "\(sql: $0)\(scope)\(unescaped: $1)" }
        return "(\(sql: text))"
    }

    /// The text of a view in a migration that creates or replaces it; nil in others.
    static func definition(of view: String, in migration: String) -> String? {
        let parts = migration.replacingOccurrences(of: "CREATE OR REPLACE VIEW", with: "CREATE VIEW")
            .components(separatedBy: "CREATE VIEW \(view) AS")
        return parts.count > 1 ? parts[parts.count - 1].components(separatedBy: ";\n")[0] : nil
    }

    private var text: String {
        let definitions = Migration.all.compactMap { Self.definition(of: rawValue, in: $0.sql) }
        let lines = (definitions.last ?? "").components(separatedBy: "\n")
        var text = lines.filter { !$0.drop { $0 == " " }.hasPrefix("--") }.joined(separator: "\n")
        for other in Self.allCases where text.contains("FROM \(other.rawValue) ") {
            text = text.replacingOccurrences(of: "FROM \(other.rawValue) ", with: "FROM (\(other.text)) ")
        }
        return text.replacing(#/(\w+\.scope_id) = \w+\.scope_id/#) { "\($0.1) = \(Self.scope)" }
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension Scope {
    func view(_ view: VerdictView) -> SQL { view.query(of: id) }
}
