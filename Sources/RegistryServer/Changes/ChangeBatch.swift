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
