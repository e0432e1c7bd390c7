import HTTPTypes
import RegistryCore

extension Route {
    /// The documentation: for browsers, and no part of the API that `openapi.json` describes.
    static var docs: [Route] {
        [
            .plain(.get, "/docs", for: .everyone) { _ in .docs("/docs") },
            .plain(.get, "/docs/{page}", for: .everyone) { .docs("/docs/\($0.parameter("page"))") },
            .plain(.get, "/docs/reference/{page}", for: .everyone) {
                .docs("/docs/reference/\($0.parameter("page"))")
            },
            .plain(.get, "/docs/assets/{version}/{name}", for: .everyone) {
                try DocsSite.assets.answer($0.parameter("name"), version: $0.parameter("version"))
            },
        ]
    }
}

extension Response {
    /// A page of the documentation, or the page for a path that has none.
    static func docs(_ path: String) -> Response {
        var answer = Response(fields: [.contentType: "text/html; charset=utf-8"])
        answer.contentPolicy = """
            default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; frame-ancestors 'none'; \
            base-uri 'none'; form-action 'none'
            """
        if let page = DocsSite.pages[path] {
            answer.body = .bytes(page)
            answer.fields[.cacheControl] = "public, max-age=300"
        } else {
            answer.status = .notFound
            answer.body = .bytes(DocsSite.missing)
        }
        return answer
    }
}
