import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore
import Synchronization

/// A permitted request. A class because it is large and passed on often.
final class Call: Sendable {
    let parts: ServiceParts
    private let admission: Admission
    /// Nil without a body and after reading.
    private let body: Mutex<ReceivedBody?>

    init(_ admission: Admission, _ parts: ServiceParts, body: ReceivedBody? = nil) {
        self.admission = admission
        self.parts = parts
        self.body = Mutex(body)
    }

    var principal: Principal { admission.principal }
    var query: Query { admission.located.query }
    var fields: HTTPFields { admission.located.fields }
    var network: CallerNetwork? { admission.located.network }
    var executor: any TaskExecutor { admission.located.request.connection.executor }
    /// An NDJSON body.
    var lines: BodyLines? { body.withLock { $0?.lines } }
    var wantsLines: Bool { admission.located.wantsLines }
    var registry: Registry { parts.registry }
    var metrics: ServiceMetrics { parts.metrics }

    /// Reads the body once and frees it, so that only its parsed form stays in memory during the wait for Postgres.
    func readBody<Value>(_ read: (inout JSONReader) throws -> Value) rethrows -> Value {
        let body = body.withLock { $0.take() }
        var json = JSONReader(body?.json ?? .null)
        return try read(&json)
    }

    func readChecked<Value>(_ read: (inout JSONReader) -> Value?) throws -> Value {
        let value = try readBody { json in
            let value = read(&json)
            try json.check()
            return value
        }
        guard let value else { throw Problem(faults: []) }
        return value
    }

    func parameter(_ name: String) -> String { admission.located.match.parameters[name] ?? "" }
}

struct ScopedCall: Sendable {
    let call: Call
    let scope: Scope

    var registry: Registry { call.registry }
    var registrations: RegistrationMetrics { call.metrics.registrations }
    var who: UTF8Text { call.principal.who }
}

extension ScopedCall {
    /// Reads the only parameter of a call.
    func read<Value>(_ read: (inout ParameterReader) -> Value?) throws(Problem) -> Value {
        var parameters = ParameterReader(call)
        let value = read(&parameters)
        return try parameters.checked(value)
    }

    func checkAliases(_ aliases: AliasSet?) throws(Problem) {
        guard let aliases else { return }
        try AliasPolicy(scope.app).check(aliases.aliases, by: call.principal)
    }

    /// A publishable key needs an installation, because only its id distinguishes callers with that key.
    func findClaimant(_ installation: InstallationHash?) throws(Problem) -> Claimant {
        guard call.principal.role == .client else { return .any }
        if let subject = call.principal.subject { return .subject(subject, installation) }
        if let installation { return .installation(installation) }
        throw Problem(
            .installationRequired,
            "A publishable key must name the installation: send X-Installation-Id, or installationId in the body."
        )
    }
}
