import HTTPTypes
import RegistryCore

/// The origin of a change, from the browser's header fields.
enum RequestOrigin {
    private static let site = HTTPField.Name("Sec-Fetch-Site")!

    /// Rejects forms from other sites' pages. Without these fields the request is trusted, because the form's own token
    /// is always checked.
    static func check(_ fields: HTTPFields, authority: String?) throws(Problem) {
        // Browsers send "null" for pages that hide their origin, as ours do.
        guard isOwn(fields, authority: authority, believesNull: true) else {
            throw Problem(
                .forbidden,
                "Another site's page sent this form. Open the console itself and repeat it there."
            )
        }
    }

    /// Rejects calls from other sites' pages, including pages with a hidden origin, because calls have no form token.
    static func checkCall(_ fields: HTTPFields, authority: String?) throws(Problem) {
        guard isOwn(fields, authority: authority, believesNull: false) else {
            throw Problem(
                .forbidden,
                "A page of another site sent this. Without authentication, the service refuses changes from other sites."
            )
        }
    }

    private static func isOwn(_ fields: HTTPFields, authority: String?, believesNull: Bool) -> Bool {
        if let site = fields[site] { return site == "same-origin" }
        guard let origin = fields[.origin], origin != "null" || !believesNull else { return true }
        let place = origin.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init)
        guard let place, let authority else { return false }
        return place.lowercased() == authority.lowercased()
    }
}
