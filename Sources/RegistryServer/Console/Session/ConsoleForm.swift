import HTTPTypes
import NIOCore
import RegistryCore

extension BodyReader {
    /// `application/x-www-form-urlencoded`.
    func form(_ request: Request, of network: CallerNetwork?) async throws -> Query {
        let type = MediaType(request.fields[.contentType] ?? "")
        guard type.name == "application/x-www-form-urlencoded" else {
            throw Problem(.unsupportedMediaType, "Expected a submitted form.")
        }
        let (bytes, reservation) = try await collect(request, upTo: limits.singleBody, of: network)
        defer { withExtendedLifetime(reservation) {} }
        // A plus is a space in forms.
        let text = String(buffer: bytes).replacing("+", with: "%20")
        return try Query(Substring(text))
    }
}
