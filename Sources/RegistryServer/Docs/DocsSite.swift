import Foundation
import HTTPTypes
import RegistryCore
import WebAssets

/// Rendered at the first request.
enum DocsSite {
    static let pages: [String: [UInt8]] = {
        let index = DocsPage(
            path: "/docs",
            title: "Documentation",
            summary: "Push-token-registry keeps, for every running Live Activity, the one push token that works now.",
            template: "docs-index"
        )
        return Dictionary(uniqueKeysWithValues: ([index] + listed).map { ($0.path, render($0)) })
    }()

    static let missing = render(
        DocsPage(path: "", title: "No such page", summary: "This address has no page.", template: "docs-layout")
    )

    static let assets = PageAssets(below: "/docs/assets", WebAssets.docsFiles)

    private static let listed = DocsPage.reference + [.errorCodes]

    private static let templates = PageTemplates(WebAssets.docsTemplates)

    private static func render(_ page: DocsPage) -> [UInt8] {
        let pages = listed.map { (title: $0.title, path: $0.path, about: $0.summary, isHere: $0.path == page.path) }
        let about = "The API for programs, in OpenAPI 3.1."
        var fields: TemplateContext = [
            "pageTitle": page.title, "lead": page.summary, "assets": assets.address,
            "pages": pages + [(title: "openapi.json", path: "/openapi.json", about: about, isHere: false)],
            "contents": page.contents,
        ]
        fields.add(page.fields)
        return templates.render(page.template, fields, now: Date())
    }
}

extension Route {
    /// For browsers, and not part of the API in `openapi.json`.
    static var docs: [Route] {
        [
            .plain(.get, "/docs", for: .everyone) { _ in .docs("/docs") },
            .plain(.get, "/docs/{page}", for: .everyone) { .docs("/docs/\($0.parameter("page"))") },
            .plain(.get, "/docs/reference/{page}", for: .everyone) {
                .docs("/docs/reference/\($0.parameter("page"))")
            },
            .plain(.get, "/docs/assets/{version}/{name}", for: .everyone) {
                try DocsSite.assets.response($0.parameter("name"), version: $0.parameter("version"))
            },
        ]
    }
}

extension Response {
    static func docs(_ path: String) -> Response {
        guard let page = DocsSite.pages[path] else {
            return .html(DocsSite.missing, status: .notFound, formsTo: "'none'")
        }
        var response = Response.html(page, formsTo: "'none'")
        response.fields[.cacheControl] = "public, max-age=300"
        return response
    }
}
