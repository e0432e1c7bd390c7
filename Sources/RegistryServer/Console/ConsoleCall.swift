import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

struct ConsoleCall: Sendable {
    let call: Call
    let console: Console
    let visit: ConsoleVisit
    /// Nil for pages without an app.
    let scope: Scope?
    let form: Query

    var registry: Registry { call.registry }
    var principal: Principal { call.principal }
    var now: Date { call.access.clock.date() }

    /// - Throws: `unknown-app`; the route guarantees that there is one.
    func requireScope() throws(Problem) -> Scope {
        guard let scope else { throw Problem.unknownApp }
        return scope
    }

    /// The last value of a parameter, unless it is empty.
    func parameter(_ name: String) -> String? { call.query[name].last.flatMap { $0.isEmpty ? nil : $0 } }

    /// The last value of a form's field, unless it is empty.
    func field(_ name: String) -> String? { form[name].last.flatMap { $0.isEmpty ? nil : $0 } }
    var mayChange: Bool { Access.adminCalls.allows(principal) }
    var isRoot: Bool { principal.role == .root }
}

/// The caller of a page, and the identity of their browser.
struct ConsoleVisit: Sendable {
    let principal: Principal
    /// Nil without a sign-in.
    var session: ConsoleSession?
    /// The digest that seals the session's next cookie.
    var digest: [UInt8] = []
    let isSecure: Bool
    /// The token in forms; nil for anonymous callers.
    let formToken: String?

    /// Rejects a form that did not come from a page of this session.
    ///
    /// - Throws: `forbidden`.
    func check(_ form: Query) throws(Problem) {
        guard let formToken, let given = form[FormToken.field].last, ConstantTime.areEqual(given, formToken) else {
            throw Problem(.forbidden, "The form is not from this session. Open the page again and repeat it there.")
        }
    }
}
