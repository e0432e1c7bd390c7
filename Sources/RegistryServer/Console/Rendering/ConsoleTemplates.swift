import WebAssets

enum ConsoleTemplates {
    private static let templates = PageTemplates(WebAssets.consoleTemplates)
    static func render(_ name: String, _ fields: TemplateContext) -> String { templates.render(name, fields) }
    static let assets = PageAssets(below: "/console/assets", WebAssets.consoleFiles)
}
