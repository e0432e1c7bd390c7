import WebAssets

/// The templates of the console, parsed once, and the files that its pages load.
enum ConsoleTemplates {
    /// The pages and what they share, by name.
    private static let templates = PageTemplates(WebAssets.consoleTemplates)

    /// The whole page.
    static func render(_ name: String, _ fields: TemplateContext) -> String { templates.render(name, fields) }

    /// The files that pages load.
    static let assets = PageAssets(below: "/console/assets", WebAssets.consoleFiles)
}
