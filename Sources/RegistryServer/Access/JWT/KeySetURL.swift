import Foundation
import RegistryCore

struct KeySetURL: Sendable {
    /// Without the brackets of IPv6, as the HTTP client looks it up.
    let host: String
    let text: String

    /// - Throws: A sentence unless it is an https URL with a host that is not evidently internal. `allowsInternal`
    ///   allows all hosts and http.
    init(_ text: String, allowsInternal: Bool) throws(JSONFaultReason) {
        guard text.utf8.count <= 2048, let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            scheme == "https" || (allowsInternal && scheme == "http"), let host = url.host, !host.isEmpty
        else { throw JSONFaultReason("must be an https URL") }
        guard url.user == nil, url.password == nil else { throw JSONFaultReason("must not contain a user or password") }
        self.text = text
        self.host = host.trimmingCharacters(in: ["[", "]"])
        guard allowsInternal || !isEvidentlyInternal else {
            throw JSONFaultReason("must not point to a loopback, private or link-local address")
        }
    }

    /// `KeySetFetcher` detects names that resolve to internal addresses.
    private var isEvidentlyInternal: Bool {
        if let address = IPAddress(host) { return !address.isPublic }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") || !name.contains(".")
    }
}
