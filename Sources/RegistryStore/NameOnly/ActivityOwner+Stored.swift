import RegistryCore

extension ActivityOwner {
    /// `installation:` with the hash in hex, `subject:` with the `sub`, or `app`.
    var stored: UTF8Text {
        switch self {
        case .installation(let hash): "installation:\(hash)"
        case .subject(let subject): "subject:\(subject)"
        case .app: "app"
        }
    }

    /// - Throws: ``UnreadableRow``.
    init(stored text: UTF8Text) throws {
        if text == "app" {
            self = .app
        } else if text.hasPrefix("subject:") {
            self = .subject(text.dropping(prefix: "subject:"))
        } else if text.hasPrefix("installation:"),
            let bytes = Hexadecimal.decode(text.dropping(prefix: "installation:").string)
        {
            self = .installation(InstallationHash(bytes: bytes))
        } else {
            throw UnreadableRow(detail: "the owner of a name is not valid")
        }
    }
}
