import Foundation
import PostgresDriver
import RegistryCore

/// The views that say which tokens may be handed out, and why others may not.
///
/// The migrations have the one text of each. A view looks rows up by the app of another row, of which a distributed Postgres
/// does not see that it is always the same one. So statements about one app do not name the view but take its text, with the
/// app's number in it.
enum VerdictView: String, CaseIterable {
    case activities = "activity_verdicts"
    case currentActivities = "current_activities"
    case installationTokens = "installation_token_verdicts"
    case currentInstallationTokens = "current_installation_tokens"
    case tokenHolders = "token_holders"

    /// The texts, divided at the app's number.
    private static let pieces = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0, $0.text.components(separatedBy: Self.app)) }
    )

    private static let app = "<app>"

    /// The view's rows of an app, as a query in parentheses. Its users compare the app, too: the first rows of the view
    /// may belong to any app.
    func query(of app: Int64) -> SQL {
        let pieces = Self.pieces[self] ?? []
        let text = pieces.dropFirst().reduce("\(unescaped: pieces[0])" as SQL) { "\(sql: $0)\(app)\(unescaped: $1)" }
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
        return text.replacing(#/(\w+\.app_number) = \w+\.app_number/#) { "\($0.1) = \(Self.app)" }
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension Scope {
    func view(_ view: VerdictView) -> SQL { view.query(of: app.number) }
}
