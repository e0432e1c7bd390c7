import WebAssets

/// A guide: one of the Markdown files of `Documentation.docc`, as the fragment of HTML that `deploy/docs` made of it.
struct Guide: Sendable {
    /// The last part of its path.
    let name: String
    /// The text of its heading.
    let title: String
    /// Its purpose, in a sentence.
    let summary: String
    /// The list of the page's contents, and the text.
    var fragment: [UInt8] { WebAssets.guides[name] ?? [] }

    /// For those who work with the service, by their part in it.
    static let byReader = [
        Guide(
            name: "for-app-developers",
            title: "For app developers",
            summary: "What to tell the registry, when, and the Swift code that does it."
        ),
        Guide(
            name: "for-senders",
            title: "For senders",
            summary: "Find the tokens that work now, push to them, and say what APNs answered."
        ),
        Guide(
            name: "for-operators",
            title: "For operators",
            summary: "From deploy/ to a running service with keys, metrics and a first stale report."
        ),
    ]

    /// The guide to the meaning of every refusal's code, to which other pages lead.
    static let errorCodes = Guide(
        name: "error-codes",
        title: "Error codes",
        summary: "What each refusal means, and what to do about it."
    )

    /// For those who want to know more of one thing.
    static let inDepth = [
        Guide(
            name: "access-and-limits",
            title: "Access and limits",
            summary: "Roles, keys, signed-in users, alias rules, and how much one caller may ask for."
        ),
        Guide(
            name: "states-of-an-activity",
            title: "The states of an activity and of its token",
            summary: "What takes a token from senders, and what brings it back."
        ),
        Guide(
            name: "running-in-production",
            title: "Running in production",
            summary: "Sizing, high availability, backups, upgrades, and what has been tried."
        ),
        Guide(
            name: "monitoring",
            title: "Monitoring",
            summary: "What the service measures, and what to do when an alert comes."
        ),
        Guide(
            name: "moving-registrations",
            title: "Moving registrations",
            summary: "Export and import: into another registry, or a newer schema."
        ),
        Guide(
            name: "coming-from-elsewhere",
            title: "Coming from elsewhere",
            summary: "From a table of your own, or from another system."
        ),
        Guide(
            name: "console",
            title: "The console",
            summary: "Sign-in, rights and pages of the audit for people with a browser."
        ),
        Guide(
            name: "what-happens-when",
            title: "What happens when",
            summary: "The client for iOS apps at each moment of a phone's life."
        ),
        Guide(
            name: "react-native-and-flutter",
            title: "React Native and Flutter",
            summary: "How the native part of a plugin starts the client."
        ),
        Guide(
            name: "threats",
            title: "Threats",
            summary: "What is protected, from whom, and what is not covered."
        ),
    ]

    /// For those who change the code, or want proof.
    static let aboutTheCode = [
        Guide(name: "changelog", title: "Changelog", summary: "What each version changed."),
        Guide(
            name: "contributing",
            title: "Contributing",
            summary: "The words of the code, where a change goes, how it is tested, and why each library is used."
        ),
        Guide(name: "promises", title: "Promises", summary: "The rules R0 to R11, each with its tests."),
        Guide(name: "figures", title: "Figures", summary: "Proofs by numbers, and the speed beside others."),
        Guide(
            name: "where-the-time-goes",
            title: "Where the time goes",
            summary: "What a request costs, and what the next limits are."
        ),
    ]

    static let all = byReader + [errorCodes] + inDepth + aboutTheCode

    var path: String { "/docs/\(name)" }
}
