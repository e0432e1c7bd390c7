import PostgresDriver
import RegistryCore

/// The metadata of activities and installations. It is read only if a caller requests it.
package struct FoundMetadata: Sendable, Hashable {
    private let activities: [Int64: Metadata]
    let installations: [InstallationHash: Metadata]

    init(
        of keys: [Int64],
        _ installations: [InstallationHash?],
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws {
        let results = try session.pipeline([
            Query("resolve.read-metadata")(["scope": scope.id, "keys": Array(Set(keys))]),
            Query("resolve.read-installation-metadata")([
                "scope": scope.id, "hashes": installations.compactMap(\.self),
            ]),
        ])
        activities = Dictionary(
            uniqueKeysWithValues: try results[0].decode { try ($0["activity_key"], Metadata(stored: $0["metadata"])) }
        )
        self.installations = Dictionary(
            uniqueKeysWithValues: try results[1].decode {
                try ($0["installation_hash"], Metadata(stored: $0["metadata"]))
            }
        )
    }

    package func write(activity key: Int64? = nil, _ installation: InstallationHash?, to json: inout JSONWriter) {
        json.raw("metadata", ifPresent: key.flatMap { activities[$0] }?.canonicalJSON)
        json.raw("installationMetadata", ifPresent: installation.flatMap { installations[$0] }?.canonicalJSON)
    }
}

extension Registry {
    package func metadata(
        of keys: [Int64] = [],
        _ installations: [InstallationHash?],
        in scope: Scope
    ) async throws -> FoundMetadata {
        try await read { try FoundMetadata(of: keys, installations, in: scope, $0) }
    }
}

extension ResolvedActivity {
    package func encode(to json: inout JSONWriter, with metadata: FoundMetadata?) {
        json.object { json in
            writeMembers(to: &json)
            metadata?.write(activity: key, installation, to: &json)
        }
    }
}
