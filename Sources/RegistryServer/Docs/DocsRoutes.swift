import HTTPTypes
import RegistryCore
import WebAssets

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
            .plain(.get, "/docs/images/{name}", for: .everyone) { try .docsImage($0.parameter("name")) },
            .plain(.get, "/docs/examples/{name}", for: .everyone) { try .docsExample($0.parameter("name")) },
        ]
    }
}

extension Answer {
    /// A page of the documentation; where there is none, a page that says so.
    static func docs(_ path: String) -> Answer {
        var answer = Answer(fields: [.contentType: "text/html; charset=utf-8"])
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

    /// A program that a guide leads to, to read and to download.
    static func docsExample(_ name: String) throws(Problem) -> Answer {
        guard let bytes = WebAssets.examples[name] else {
            throw Problem(.noSuchRoute, "The documentation has no such example.")
        }
        return Answer(
            fields: [.contentType: "text/plain; charset=utf-8", .cacheControl: "public, max-age=300"],
            body: .bytes(bytes)
        )
    }

    /// A drawing of a guide.
    static func docsImage(_ name: String) throws(Problem) -> Answer {
        guard let bytes = WebAssets.images[name] else {
            throw Problem(.noSuchRoute, "The documentation has no such image.")
        }
        return Answer(
            fields: [.contentType: PageAssets.type(of: name), .cacheControl: "public, max-age=300"],
            body: .bytes(bytes)
        )
    }
}
