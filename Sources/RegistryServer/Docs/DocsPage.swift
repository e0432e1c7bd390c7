/// A page of the documentation.
struct DocsPage: Sendable {
    let path: String
    let title: String
    /// The sentence below the title, and next to the page in lists.
    let summary: String
    let template: String
    var fields: TemplateContext = [:]
    /// The ids of its sections, each with its name.
    var contents: [(id: String, name: String)] = []
}
