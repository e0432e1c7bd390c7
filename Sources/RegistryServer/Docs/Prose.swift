import RegistryCore

/// Converts the Markdown of `openapi.json` and of the guide to errors to HTML. Supports only paragraphs, lists, `code`
/// and **emphasis**.
enum Prose {
    static func paragraphs(_ text: String) -> String {
        text.split(separator: "\n\n").map { block in
            guard block.hasPrefix("- ") else { return "<p>\(line(block))</p>" }
            let items = block.dropFirst(2).split(separator: "\n- ").map { "<li>\(line($0))</li>" }
            return "<ul>\n\(items.joined(separator: "\n"))\n</ul>"
        }.joined(separator: "\n")
    }

    /// Links error codes to their descriptions.
    static func line(_ text: some StringProtocol) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0 % 2 == 1 ? code($1) : emphasised($1) }.joined()
    }

    private static func code(_ text: some StringProtocol) -> String {
        let code = "<code>\(HTML.escape(text))</code>"
        guard Problem.Code(rawValue: String(text)) != nil else { return code }
        return "<a href=\"/docs/error-codes#\(text)\">\(code)</a>"
    }

    private static func emphasised(_ text: some StringProtocol) -> String {
        let parts = String(text).split(separator: /\*\*/, omittingEmptySubsequences: false)
        return parts.enumerated()
            .map { $0 % 2 == 1 ? "<strong>\(HTML.escape($1))</strong>" : HTML.escape($1) }.joined()
    }
}
