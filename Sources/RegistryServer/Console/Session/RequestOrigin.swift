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
        if let site = fields[site] {
            guard site == "same-origin" else { throw foreign }
            return
        }
        // Browsers say "null" of pages that, like ours, do not tell where they come from.
        guard let origin = fields[.origin], origin != "null" else { return }
        let place = origin.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init)
        guard let place, let authority, place.lowercased() == authority.lowercased() else { throw foreign }
    }

    private static var foreign: Problem {
        Problem(.forbidden, "Another site's page sent this form. Open the console itself and repeat it there.")
    }
}
