import RegistryCore
import RegistryStore

extension ScopedCall {
    func erase() async throws -> Response {
        let subject = try call.readChecked { readSubject(&$0) }
        let counts = try await registry.erase(subject, in: scope, by: who)
        return .json { json in
            json.member("activities", counts.activities)
            json.member("records", counts.records)
            json.member("events", counts.events)
        }
    }

    /// Exactly one of `{alias: {kind, value}}`, `{installationId}` and `{subject}`.
    private func readSubject(_ json: inout JSONReader) -> ErasureSubject? {
        let alias = json.optionalNested("alias") { Alias.read(&$0) }
        let installation = json.optionalString("installationId", InstallationID.init)
        let subject = json.optionalString("subject", UTF8Text.subject)
        let given = ["alias", "installationId", "subject"].filter { json.object[$0].map { !$0.isNull } ?? false }
        if given.count != 1 { json.fault(nil, "must have exactly one of alias, installationId and subject") }
        return alias.map { .alias($0) }
            ?? installation.map { .installation(InstallationHash(of: $0, in: scope.app.bundleID)) }
            ?? subject.map { .subject($0) }
    }
}
