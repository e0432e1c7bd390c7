import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore
import Synchronization

/// A permitted request. A class because it is large and passed on often.
final class Call: Sendable {
    let located: RoutedRequest
    let principal: Principal
    /// Nil if the route does not need it.
    private let app: App?
    private let environment: APNSEnvironment?
    let parts: ServiceParts
    /// Nil without a body, before it arrived, and after reading.
    private let body = Mutex<ReceivedBody?>(nil)

    init(
        _ located: RoutedRequest,
        _ principal: Principal,
        _ app: App?,
        _ environment: APNSEnvironment?,
        _ parts: ServiceParts
    ) {
        (self.located, self.principal, self.app, self.environment) = (located, principal, app, environment)
        self.parts = parts
    }

    var route: Route { located.route }
    var query: Query { located.query }
    var fields: HTTPFields { located.fields }
    var network: CallerNetwork? { located.network }
    var executor: any TaskExecutor { located.request.connection.executor }
    var lines: BodyLines? { body.withLock { $0?.lines } }
    var wantsLines: Bool { located.wantsLines }
    var registry: Registry { parts.registry }
    var metrics: ServiceMetrics { parts.metrics }

    /// The app that the path names, and its environment.
    var scope: Scope {
        get throws(Problem) {
            guard let environment else { throw Problem.unknownApp }
            return Scope(app: try namedApp(), environment: environment)
        }
    }

    func namedApp() throws(Problem) -> App {
        guard let app else { throw Problem.unknownApp }
        return app
    }

    func receive(_ body: ReceivedBody?) { self.body.withLock { $0 = body } }

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

    func parameter(_ name: String) -> String { located.match.parameters[name] ?? "" }
}

struct ScopedCall: Sendable {
    let call: Call
    let scope: Scope

    var registry: Registry { call.registry }
    var registrations: RegistrationMetrics { call.metrics.registrations }
    var who: UTF8Text { call.principal.who }

    func read<Value>(_ read: (inout ParameterReader) -> Value?) throws(Problem) -> Value {
        var parameters = ParameterReader(call: call)
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

extension Call {
    var isCounted: Bool {
        route.access != .everyone || route.body == .form || route.template == ConsoleLink.callback
    }

    var caller: Caller {
        var caller = Caller(network: located.network)
        guard located.isHeavy || principal.isPublishableKey,
            let name = located.match.parameters["installationId"] ?? fields[.installationID],
            // Longer ids are rejected and not stored.
            name.utf8.count <= InstallationID.maximumBytes
        else { return caller }
        caller.installation = Array(name.utf8)
        return caller
    }
}
