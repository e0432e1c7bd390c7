import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore
import WebAssets

extension Response {
    static func page(
        _ template: String,
        _ fields: TemplateContext,
        status: HTTPResponse.Status = .ok,
        now: Date = Date()
    ) -> Response {
        var all: TemplateContext = ["assets": ConsoleTemplates.assets.address]
        all.add(fields)
        return .html(ConsoleTemplates.pages.render(template, all, now: now), status: status, formsTo: "'self'")
    }

    static func page(of error: any Error, requestID: String, logger: @autoclosure () -> Logger) -> Response {
        let problem = Problem(error, logger: logger())
        let status = HTTPResponse.Status(code: problem.code.status)
        var page = page(
            "problem",
            [
                "pageTitle": problem.code.heading, "status": status.code, "code": problem.code,
                "sentence": problem.code == .noSuchRoute ? "The console has no such page." : problem.detail,
                "faults": problem.errors.map { (place: $0.pointer.dropFirst(), detail: $0.detail) },
            ],
            status: status
        )
        // Keeps fields such as `Retry-After`. Without `WWW-Authenticate`, the browser shows no password dialog.
        let own: Set<HTTPField.Name> = [.contentType, .wwwAuthenticate]
        let fields = Response(problem, requestID: requestID).fields
        page.fields.append(contentsOf: fields.filter { !own.contains($0.name) })
        page.addFields(of: error)
        return page
    }
}

extension Problem.Code {
    fileprivate var heading: String {
        switch status {
        case 401, 403: "Not allowed"
        case 404: "Not found"
        case 422: "Not understood"
        case 429: "Too many requests"
        case 503: "Not available now"
        default: "That did not work"
        }
    }
}

extension ConsoleCall {
    /// In navigation order, with the last part of the path and the templates.
    private static let parts: [(label: String, path: String, templates: [String])] = [
        ("Overview", "", ["overview"]),
        ("Search", "search", ["search", "activity", "alias"]), ("Stale", "stale", ["stale", "purge"]),
        ("Installations", "installations", ["installations", "installation"]), ("Channels", "channels", ["channels"]),
        ("Keys and apps", "keys", ["keys"]), ("System", "system", ["system"]),
    ]

    /// - Parameter title: By default the label of the template's part.
    func page(
        _ template: String,
        title: String? = nil,
        status: HTTPResponse.Status = .ok,
        _ fields: TemplateContext
    ) throws -> Response {
        let (scope, link) = (try scope, try link)
        let part = Self.parts.first { $0.templates.contains(template) }
        let title = title ?? part?.label ?? ""
        var all = frame
        all.add([
            "pageTitle": "\(title) · \(scope.app.bundleID)", "heading": title, "scope": scope, "base": link.base,
            "scopeName": scope.app.settings.name ?? scope.app.bundleID.rawValue, "isRoot": isRoot,
            "environments": APNSEnvironment.allCases.map { environment in
                let path = ConsoleLink(scope.app.bundleID, environment).page(part?.path ?? "")
                return (name: environment, path: path, isChosen: environment == scope.environment)
            },
            "nav": Self.parts.map { (label: $0.label, path: link.page($0.path), isHere: $0.path == part?.path) },
        ])
        all.add(fields)
        return .page(template, all, status: status, now: now)
    }

    var frame: TemplateContext {
        [
            "who": principal.who, "role": principal.role, "formToken": visit.formToken,
            "isSignedIn": visit.session != nil, "isPerson": !visit.grants.isEmpty,
            "isInsecure": principal == .insecure,
        ]
    }
}

enum ConsoleTemplates {
    static let pages = PageTemplates(WebAssets.consoleTemplates)
    static let assets = PageAssets(below: "/console/assets", WebAssets.consoleFiles)
}
