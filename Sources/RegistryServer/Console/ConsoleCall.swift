import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

struct ConsoleCall: Sendable {
    let call: Call
    let console: Console
    let visit: ConsoleVisit
    let scope: Scope?
    let form: Query

    var registry: Registry { call.registry }
    var principal: Principal { call.principal }
    var now: Date { call.access.clock.date() }

    func requireScope() throws(Problem) -> Scope {
        guard let scope else { throw Problem.unknownApp }
        return scope
    }

    /// Nil if empty.
    func parameter(_ name: String) -> String? { call.query[name].last.flatMap { $0.isEmpty ? nil : $0 } }

    /// Nil if empty.
    func field(_ name: String) -> String? { form[name].last.flatMap { $0.isEmpty ? nil : $0 } }
    var mayChange: Bool { Access.adminCalls.allows(principal) }
    var isRoot: Bool { principal.role == .root }
}

struct ConsoleVisit: Sendable {
    var principal = Principal.anonymous
    /// The roles of a person, each in an app. A key has none.
    var grants: [SignInSettings.Rule] = []
    var session: ConsoleSession?
    /// The digest that signs the session's next cookie.
    var digest: [UInt8] = []
    let isSecure: Bool
    /// Nil for anonymous callers.
    let formToken: String?

    /// - Throws: `forbidden` for a form from another session.
    func check(_ form: Query) throws(Problem) {
        guard let formToken, let given = form[FormToken.field].last, ConstantTime.areEqual(given, formToken) else {
            throw Problem(.forbidden, "The form is not from this session. Open the page again and repeat it there.")
        }
    }
}
