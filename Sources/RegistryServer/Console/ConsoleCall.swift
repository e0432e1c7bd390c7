import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

/// A request for a page of the console, from somebody who may see it.
struct ConsoleCall: Sendable {
    let call: Call
    let console: Console
    let visit: ConsoleVisit
    /// The app and environment that the page is about; nil for pages about no app.
    let scope: Scope?
    /// The values that were sent with a form.
    let form: Query

    var registry: Registry { call.registry }
    var principal: Principal { call.principal }
    var now: Date { call.access.clock.date() }

    /// The app and environment of a page that is about one.
    ///
    /// - Throws: `unknown-app`; its route sees to it that there is one.
    func requireScope() throws(Problem) -> Scope {
        guard let scope else { throw Problem.unknownApp }
        return scope
    }

    /// The last of the values of a parameter, where it is not empty.
    func parameter(_ name: String) -> String? { call.query[name].last.flatMap { $0.isEmpty ? nil : $0 } }

    /// The last of the values of a form's field, where it is not empty.
    func field(_ name: String) -> String? { form[name].last.flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether the caller may do what an admin may.
    var mayChange: Bool { Access.adminCalls.allows(principal) }

    /// Whether the caller looks after the whole service.
    var isRoot: Bool { principal.role == .root }
}

/// The caller of a page, and what tells their browser apart from others.
struct ConsoleVisit: Sendable {
    let principal: Principal
    /// Nil where nobody is signed in, or need be.
    var session: ConsoleSession?
    /// The digest that proves the session's next cookie.
    var digest: [UInt8] = []
    let isSecure: Bool
    /// The token that forms carry; nil for anonymous callers.
    let formToken: String?

    /// Refuses a form that no page of this session sent.
    ///
    /// - Throws: `forbidden`.
    func check(_ form: Query) throws(Problem) {
        guard let formToken, let given = form[FormToken.field].last, ConstantTime.areEqual(given, formToken) else {
            throw Problem(.forbidden, "The form is not from this session. Open the page again and repeat it there.")
        }
    }
}
