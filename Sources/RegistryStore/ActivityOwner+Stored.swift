import RegistryCore

extension ActivityOwner {
    /// How an owner is stored: `installation:` and the hash in hex, `subject:` and the `sub`, or `app`.
    var stored: String {
        switch self {
        case .installation(let hash): "installation:\(hash)"
        case .subject(let subject): "subject:\(subject)"
        case .app: "app"
        }
    }

    /// Reads what ``stored`` writes.
    ///
    /// - Throws: ``UnreadableRow``.
    init(stored text: String) throws {
        if text == "app" {
            self = .app
        } else if text.hasPrefix("subject:") {
            self = .subject(String(text.dropFirst(8)))
        } else if text.hasPrefix("installation:"), let bytes = Hexadecimal.decode(String(text.dropFirst(13))) {
            self = .installation(InstallationHash(bytes: bytes))
        } else {
            throw UnreadableRow(detail: "the owner of a name is none")
        }
    }
}
