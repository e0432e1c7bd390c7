/// Text for HTML.
enum HTML {
    /// Escapes what HTML gives a meaning, scalar by scalar.
    ///
    /// To look at characters would not do: a quotation mark with an accent upon it is another character than a quotation
    /// mark, yet ends an attribute all the same.
    static func escape(_ text: some StringProtocol) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
