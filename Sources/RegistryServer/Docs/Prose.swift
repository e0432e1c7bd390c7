import RegistryCore

/// The prose of `openapi.json` as HTML: paragraphs, `code` and **emphasis**, which is all of Markdown that it uses.
enum Prose {
    /// Paragraphs.
    static func paragraphs(_ text: String) -> String {
        text.split(separator: "\n\n").map { "<p>\(line($0))</p>" }.joined(separator: "\n")
    }

    /// Words within a line. A code of a problem leads to what is said of it.
    static func line(_ text: some StringProtocol) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0 % 2 == 1 ? code($1) : emphasised($1) }.joined()
    }

    private static func code(_ text: some StringProtocol) -> String {
        let code = "<code>\(HTML.escape(text))</code>"
        guard Problem.Code(rawValue: String(text)) != nil else { return code }
        return "<a href=\"\(Guide.errorCodes.path)#\(text)\">\(code)</a>"
    }

    private static func emphasised(_ text: some StringProtocol) -> String {
        let parts = String(text).split(separator: /\*\*/, omittingEmptySubsequences: false)
        return parts.enumerated()
            .map { $0 % 2 == 1 ? "<strong>\(HTML.escape($1))</strong>" : HTML.escape($1) }.joined()
    }
}
