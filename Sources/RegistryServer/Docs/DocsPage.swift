struct DocsPage: Sendable {
    let path: String
    let title: String
    let summary: String
    let template: String
    var fields: TemplateContext = [:]
    var contents: [(id: String, name: String)] = []
}
