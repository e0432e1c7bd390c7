import HTTPTypes
import RegistryCore

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
        var response = Response(fields: [.contentType: "text/html; charset=utf-8"])
        response.contentPolicy = """
            default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; frame-ancestors 'none'; \
            base-uri 'none'; form-action 'none'
            """
        if let page = DocsSite.pages[path] {
            response.body = .bytes(page)
            response.fields[.cacheControl] = "public, max-age=300"
        } else {
            response.status = .notFound
            response.body = .bytes(DocsSite.missing)
        }
        return response
    }
}
