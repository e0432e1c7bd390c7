import RegistryCore

/// The changes that a follower wants. Its position moves past all changes.
struct ChangeFilter: Sendable, Hashable {
    var types: Set<UTF8Text>?
    var alias: Alias?
    var installation: InstallationHash?
    var isEmpty: Bool { types == nil && alias == nil && installation == nil }

    /// - Parameter aliases: The change's aliases as JSON. Evaluated only if needed.
    func passes(_ change: Change, aliases: JSONValue?) -> Bool {
        if let types, !types.contains(UTF8Text(change.type)) { return false }
        // It has no names, so it can concern every follower.
        if change.type == "erased" { return true }
        if let installation, change.installation != installation { return false }
        guard let alias else { return true }
        return Self.has(aliases, alias)
    }

    private static func has(_ aliases: JSONValue?, _ alias: Alias) -> Bool {
        guard case .object(let kinds) = aliases, case .array(let values) = kinds[alias.kind.string] else {
            return false
        }
        return values.contains { value in
            guard case .string(let text) = value else { return false }
            return UTF8Text(text) == alias.value
        }
    }
}
