import WebAssets

/// The documentation, whole: made when the first of its pages is asked for, and kept.
enum DocsSite {
    /// Pages of HTML by path.
    static let pages: [String: [UInt8]] = {
        var pages = ["/docs": render("docs-index", at: "/docs", title: "Documentation", index)]
        for guide in Guide.all {
            let text = String(decoding: guide.fragment, as: UTF8.self)
            pages[guide.path] = render("docs-guide", at: guide.path, title: guide.title, ["fragment": .text(text)])
        }
        for page in ReferencePage.all {
            pages[page.path] = render(page.template, at: page.path, title: page.title, page.fields)
        }
        return pages
    }()

    /// The page that is shown where there is none.
    static let missing = render("docs-missing", at: "", title: "No such page", [:])

    static let assets = PageAssets(below: "/docs/assets", WebAssets.docsFiles)

    private static let templates = PageTemplates(WebAssets.docsTemplates)

    private static func render(
        _ template: String,
        at path: String,
        title: String,
        _ fields: TemplateContext
    ) -> [UInt8] {
        var all: TemplateContext = [
            "pageTitle": .text(title), "assets": .text(assets.address), "parts": .rows(parts(at: path)),
        ]
        all.add(fields)
        return Array(templates.render(template, all).utf8)
    }

    /// The navigation: every page, that of the path marked.
    private static func parts(at path: String) -> [TemplateContext] {
        let reference = ReferencePage.all.map { ($0.label, $0.path) } + [("openapi.json", "/openapi.json")]
        let parts = [
            ("Guides", Guide.byReader.map { ($0.title, $0.path) }),
            ("Reference", reference + [(Guide.errorCodes.title, Guide.errorCodes.path)]),
            ("In depth", Guide.inDepth.map { ($0.title, $0.path) }),
            ("The code", Guide.aboutTheCode.map { ($0.title, $0.path) }),
        ]
        return parts.map { name, pages in
            let links: [TemplateContext] = pages.map { label, target in
                ["label": .text(label), "target": .text(target), "isHere": .flag(target == path)]
            }
            return ["part": .text(name), "pages": .rows(links)]
        }
    }

    private static var index: TemplateContext {
        let summaries: (Guide) -> TemplateContext = {
            ["guideTitle": .text($0.title), "guidePath": .text($0.path), "summary": .text($0.summary)]
        }
        let groups: [TemplateContext] = ReferencePage.all.map {
            ["guideTitle": .text($0.title), "guidePath": .text($0.path), "summary": .text($0.summary)]
        }
        return [
            "readers": .rows(Guide.byReader.map(summaries)), "depth": .rows(Guide.inDepth.map(summaries)),
            "code": .rows(Guide.aboutTheCode.map(summaries)),
            "groups": .rows(groups + [summaries(.errorCodes)]),
        ]
    }
}
