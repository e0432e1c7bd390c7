import Foundation
import RegistryCore

/// The URL of an issuer's keys, checked without a lookup.
struct KeySetURL: Sendable {
    /// Without brackets, as the HTTP client looks it up.
    let host: String
    let text: String

    /// - Throws: a sentence unless it is an https URL of a host that is not evidently the operator's own. With
    ///   `allowsInternal` any host is accepted, and http, too.
    init(_ text: String, allowsInternal: Bool) throws(JSONFaultReason) {
        guard text.utf8.count <= 2048, let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            scheme == "https" || (allowsInternal && scheme == "http"), let host = url.host, !host.isEmpty
        else { throw JSONFaultReason("must be an https URL") }
        guard url.user == nil, url.password == nil else { throw JSONFaultReason("must not hold a user or password") }
        self.text = text
        self.host = host.trimmingCharacters(in: ["[", "]"])
        guard allowsInternal || !isEvidentlyInternal else {
            throw JSONFaultReason("must not point to a loopback, private or link-local address")
        }
    }

    /// Names that resolve to internal addresses are detected during the fetch.
    private var isEvidentlyInternal: Bool {
        if let address = IPAddress(host) { return !address.isPublic }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") || !name.contains(".")
    }
}
