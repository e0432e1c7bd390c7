import HTTPTypes
import RegistryCore
import RegistryStore

extension AppCall {
    /// Only this response contains the complete key.
    func createKey() async throws -> Response {
        let now = call.access.clock.date()
        let request = try call.readChecked { APIKeyRequest.read(&$0, now: now) }
        let key = APIKey(random: request.role)
        let record = try await call.registry.createKey(
            key.id,
            digest: key.secretDigest,
            request,
            of: app,
            by: call.principal.who
        )
        call.access.keys.forget(key.id)
        var body = JSONWriter()
        record.encode(to: &body, revealing: key)
        return Response(status: .created, fields: [.contentType: MediaType.json], body: .bytes(body.bytes))
    }

    /// Includes revoked and expired keys. Without secrets.
    func listKeys() async throws -> Response {
        let keys = try await call.registry.keys(of: app)
        return .json { $0.member("keys", keys) }
    }

    func revokeKey() async throws -> Response {
        guard let id = try? APIKeyID(call.parameter("keyId")),
            try await call.registry.revokeKey(id, ofApp: app.id, by: call.principal.who)
        else { throw Problem(.keyNotFound, "The app has no key with this id.") }
        call.access.keys.forget(id)
        return .noContent
    }
}
