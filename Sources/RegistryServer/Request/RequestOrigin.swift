import HTTPTypes
import RegistryCore

/// Where a request that changes something comes from, as the browser says.
enum RequestOrigin {
    private static let site = HTTPField.Name("Sec-Fetch-Site")!

    /// Refuses what another site's page had the browser send. A browser that says nothing of it is believed: the form's
    /// own token decides then, and it is asked for always.
    ///
    /// - Throws: `forbidden`.
    static func check(_ fields: HTTPFields, authority: String?) throws(Problem) {
        // Browsers say "null" of pages that, like ours, do not tell where they come from.
        guard isOwn(fields, authority: authority, believesNull: true) else {
            throw Problem(
                .forbidden,
                "Another site's page sent this form. Open the console itself and repeat it there."
            )
        }
    }

    /// Refuses a call that another site's page had the browser make. No token of ours decides here, so what hides where it
    /// comes from is foreign, too.
    ///
    /// - Throws: `forbidden`.
    static func checkCall(_ fields: HTTPFields, authority: String?) throws(Problem) {
        guard isOwn(fields, authority: authority, believesNull: false) else {
            throw Problem(
                .forbidden,
                "A page of another site sent this. Without authentication the service takes no changes from such pages."
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
