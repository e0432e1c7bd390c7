import WebAssets

/// A guide: one of the Markdown files of `Documentation.docc`, as the fragment of HTML that `deploy/docs` made of it.
struct Guide: Sendable {
    /// The last part of its path.
    let name: String
    /// What its heading says.
    let title: String
    /// What it is for, in a sentence.
    let summary: String
    /// What is on the page, and the text.
    var fragment: [UInt8] { WebAssets.guides[name] ?? [] }

    /// For those who work with the service, each by what he does.
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

    /// What every code of a refusal means, to which other pages lead.
    static let errorCodes = Guide(
        name: "error-codes",
        title: "Error codes",
        summary: "What each refusal means, and what to do about it."
    )

    /// For those who want to know more of one thing.
    static let inDepth = [
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
            name: "console",
            title: "The console",
            summary: "Sign-in, rights and pages of the audit for people with a browser."
        ),
        Guide(
            name: "threats",
            title: "Threats",
            summary: "What is protected, from whom, and what is not covered."
        ),
        Guide(
            name: "where-the-time-goes",
            title: "Where the time goes",
            summary: "What a request costs, and what the next limits are."
        ),
    ]

    static let all = byReader + [errorCodes] + inDepth

    var path: String { "/docs/\(name)" }
}
