import NIOCore
import RegistryCore
import RegistryStore
import Synchronization

/// All followers of a scope share a batch and its encoded bytes.
final class ChangeBatch: Sendable {
    let changes: [Change]
    let position: ChangePosition

    private let encoded = Mutex<[ChangeFormat: ByteBuffer]>([:])
    private let aliasSets = Mutex<[JSONValue]?>(nil)

    init(_ changes: [Change], _ position: ChangePosition) {
        self.changes = changes
        self.position = position
    }

    convenience init(_ page: ChangePage) { self.init(page.changes, page.position) }

    func changes(_ filter: ChangeFilter) -> [Change] {
        guard !filter.isEmpty else { return changes }
        let aliases = filter.alias == nil ? nil : parsedAliases()
        return changes.indices.compactMap { index in
            filter.passes(changes[index], aliases: aliases?[index]) ? changes[index] : nil
        }
    }

    func bytes(as format: ChangeFormat, _ filter: ChangeFilter) -> ByteBuffer {
        guard filter.isEmpty else { return format.encode(changes(filter), position) }
        return encoded.withLock { encoded in
            if let bytes = encoded[format] { return bytes }
            let bytes = format.encode(changes, position)
            encoded[format] = bytes
            return bytes
        }
    }

    private func parsedAliases() -> [JSONValue] {
        aliasSets.withLock { sets in
            if let sets { return sets }
            let parsed = changes.map { change in change.aliases.flatMap { try? JSONParser.parse($0) } ?? .null }
            sets = parsed
            return parsed
        }
    }
}

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
