import RegistryCore

package struct InstallationRows: Sendable {
    package private(set) var installations: [InstallationHash: LockedRows.Row<Installation>]
    package private(set) var slots: [InstallationToken.ID: LockedRows.Row<InstallationToken>]
    let erasedAt: Timestamp?
    /// Set when the leases on the installation belong to its former user and must be deleted.
    package internal(set) var voidsLeases = false
    /// Unlocked installations of the other slots: their subjects and aliases, for events.
    private let others: [InstallationHash: Installation]
    private let holders: [TokenDigest: [InstallationToken.ID]]

    package init(
        installations: [Installation] = [],
        slots: [InstallationToken] = [],
        others: [Installation] = [],
        erasedAt: Timestamp? = nil
    ) {
        self.installations = Dictionary(
            uniqueKeysWithValues: installations.map { ($0.hash, LockedRows.Row(original: $0, value: $0)) }
        )
        self.slots = Dictionary(slots.map { ($0.id, LockedRows.Row(original: $0, value: $0)) }) { first, _ in first }
        self.others = Dictionary(others.map { ($0.hash, $0) }) { first, _ in first }
        self.erasedAt = erasedAt
        var holders: [TokenDigest: [InstallationToken.ID]] = [:]
        for (id, row) in self.slots.sorted(by: { $0.key < $1.key }) {
            if let digest = row.value.digest { holders[digest, default: []].append(id) }
        }
        self.holders = holders
    }

    /// The stored row, or the row that the first request creates.
    package subscript(hash: InstallationHash) -> Installation {
        installations[hash]?.value ?? others[hash] ?? Installation(hash: hash)
    }

    package func isNew(_ hash: InstallationHash) -> Bool { installations[hash]?.original == nil }

    func slots(of hash: InstallationHash) -> [InstallationToken] {
        slots.values.map(\.value).filter { $0.id.installation == hash }.sorted { $0.id < $1.id }
    }

    /// The slots that held the value when locked and still hold it, in order.
    func slots(with digest: TokenDigest) -> [InstallationToken] {
        (holders[digest] ?? []).compactMap { slots[$0]?.value }.filter { $0.digest == digest }
    }

    /// The stored row, or the row that the first request creates.
    func slot(_ id: InstallationToken.ID, hasOneOwner: Bool) throws(Rejection) -> InstallationToken {
        if let known = slots[id]?.value { return known }
        if id.attributesType != "" {
            let others = slots.keys.filter { $0.installation == id.installation && $0.kind == id.kind }
            guard others.count < InstallationToken.mostAttributesTypes else { throw .noRoom }
        }
        return InstallationToken(id: id, hasOneOwner: hasOneOwner)
    }

    mutating func store(_ installation: Installation) {
        let new = LockedRows.Row(original: nil, value: installation)
        installations[installation.hash, default: new].write(installation)
    }

    mutating func store(_ slot: InstallationToken) {
        slots[slot.id, default: LockedRows.Row(original: nil, value: slot)].write(slot)
    }
}

extension InstallationToken {
    fileprivate var digest: TokenDigest? { token?.token == nil ? nil : token?.digest }
}
