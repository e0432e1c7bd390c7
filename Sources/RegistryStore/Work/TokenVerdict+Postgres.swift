import RegistryCore

extension TokenVerdict {
    /// Reads a word of the views of verdicts.
    init(stored word: String) throws {
        guard let verdict = Self(rawValue: word) else { throw UnreadableRow(detail: "a verdict is not one of ours") }
        self = verdict
    }
}
