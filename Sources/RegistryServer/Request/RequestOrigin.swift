import HTTPTypes
import RegistryCore

/// The origin of a change, from the browser's header fields.
enum RequestOrigin {
    private static let site = HTTPField.Name("Sec-Fetch-Site")!

    /// Rejects requests from other sites' pages. Requests without these fields are trusted.
    ///
    /// - Parameter believesNull: Whether a hidden origin is trusted. Browsers send "null" for pages that hide their
    ///   origin, as ours do. Their forms have a token, but calls have none.
    static func check(_ head: HTTPRequest, believesNull: Bool, _ refusal: String) throws(Problem) {
        guard isOwn(head, believesNull) else { throw Problem(.forbidden, refusal) }
    }

    private static func isOwn(_ head: HTTPRequest, _ believesNull: Bool) -> Bool {
        if let site = head.headerFields[site] { return site == "same-origin" }
        guard let origin = head.headerFields[.origin], origin != "null" || !believesNull else { return true }
        let place = origin.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init)
        guard let place, let authority = head.authority else { return false }
        return place.lowercased() == authority.lowercased()
    }
}
