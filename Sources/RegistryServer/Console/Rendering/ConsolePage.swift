import HTTPTypes
import Logging
import RegistryCore
import RegistryStore
import WebAssets

extension Response {
    /// An HTML page that can only load the console's files and send forms to the console.
    static func page(_ template: String, _ fields: TemplateContext, status: HTTPResponse.Status = .ok) -> Response {
        var all: TemplateContext = ["assets": .text(ConsoleTemplates.assets.address)]
        all.add(fields)
        var response = Response(status: status, fields: [.contentType: "text/html; charset=utf-8"])
        response.contentPolicy = contentPolicy
        response.body = .bytes(Array(ConsoleTemplates.render(template, all).utf8))
        return response
    }

    private static let contentPolicy = """
        default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
        frame-ancestors 'none'; base-uri 'none'
        """

    static func page(of error: any Error, requestID: String, logger: @autoclosure () -> Logger) -> Response {
        let problem = Problem(error, logger: logger())
        var page = Self.page(of: problem)
        // Keeps fields such as `Retry-After`. Without `WWW-Authenticate`, the browser shows no password dialog.
        let own: Set<HTTPField.Name> = [.contentType, .wwwAuthenticate]
        let fields = Response(problem, requestID: requestID).fields
        page.fields.append(contentsOf: fields.filter { !own.contains($0.name) })
        page.addFields(of: error)
        return page
    }

    static func page(of problem: Problem) -> Response {
        let status = HTTPResponse.Status(code: problem.code.status)
        return page(
            "problem",
            [
                "pageTitle": .text(problem.code.heading), "status": .text(String(status.code)),
                "sentence": .text(problem.code == .noSuchRoute ? "The console has no such page." : problem.detail),
                "code": .text(problem.code.rawValue),
                "faults": .list(problem.errors.map { ["fault": .text("\($0.pointer.dropFirst()): \($0.detail)")] }),
            ],
            status: status
        )
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
        let scope = try requireScope()
        let part = Self.parts.first { $0.templates.contains(template) }
        let title = title ?? part?.label ?? ""
        var all = frame
        all.add([
            "pageTitle": .text("\(title) · \(scope.app.bundleID)"), "heading": .text(title),
            "scopeName": .text(scope.app.settings.name ?? scope.app.bundleID.rawValue),
            "bundleId": .text(scope.app.bundleID.rawValue), "environment": .text(scope.environment.rawValue),
            "searchPath": .text(ConsoleLink(scope).page("search")), "hasScope": true,
            "environments": .rows(environments(of: scope, part?.path)), "nav": .rows(navigation(of: scope, part?.path)),
        ])
        all.add(fields)
        return .page(template, all, status: status)
    }

    var frame: TemplateContext {
        [
            "who": .text(principal.who.string), "role": .optional(principal.role?.rawValue),
            "formToken": .optional(visit.formToken), "isSignedIn": .flag(visit.session != nil),
            "isPerson": .flag(!visit.grants.isEmpty),
            "isInsecure": .flag(principal == .insecure),
        ]
    }

    private func navigation(of scope: Scope, _ path: String?) -> [TemplateContext] {
        let link = ConsoleLink(scope)
        return Self.parts.map { part in
            ["label": .text(part.label), "href": .text(link.page(part.path)), "isHere": .flag(part.path == path)]
        }
    }

    private func environments(of scope: Scope, _ path: String?) -> [TemplateContext] {
        APNSEnvironment.allCases.map { environment in
            [
                "environmentName": .text(environment.rawValue),
                "environmentHref": .text(ConsoleLink(scope.app.bundleID, environment).page(path ?? "")),
                "isChosen": .flag(environment == scope.environment),
            ]
        }
    }
}

enum ConsoleTemplates {
    private static let templates = PageTemplates(WebAssets.consoleTemplates)
    static func render(_ name: String, _ fields: TemplateContext) -> String { templates.render(name, fields) }
    static let assets = PageAssets(below: "/console/assets", WebAssets.consoleFiles)
}
