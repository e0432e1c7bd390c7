import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization

/// A request with a known route and a permitted caller. A class because it is large and passed on often.
final class Call: Sendable {
    private let parts: ServiceParts
    let principal: Principal
    let parameters: PathParameters
    let query: Query
    let fields: HTTPFields
    let network: CallerNetwork?
    let wantsLines: Bool
    /// Nil without a body and after reading.
    private let body: Mutex<ReceivedBody?>
    /// An NDJSON body. The call itself reads it.
    let lines: BodyLines?
    let executor: any TaskExecutor

    init(
        _ parts: ServiceParts,
        principal: Principal,
        parameters: PathParameters,
        query: Query,
        fields: HTTPFields,
        network: CallerNetwork?,
        wantsLines: Bool,
        body: ReceivedBody?,
        lines: BodyLines?,
        executor: any TaskExecutor
    ) {
        self.parts = parts
        self.principal = principal
        self.parameters = parameters
        self.query = query
        self.fields = fields
        self.network = network
        self.wantsLines = wantsLines
        self.body = Mutex(body)
        self.lines = lines
        self.executor = executor
    }

    var registry: Registry { parts.registry }
    var access: AccessState { parts.access }
    var apps: AppDirectory { access.apps }
    var feedback: FeedbackRecorder { parts.feedback }
    var metrics: ServiceMetrics { parts.metrics }
    var shutdownNotice: ShutdownNotice { parts.shutdownNotice }
    var changeFeed: ChangeFeed { parts.changeFeed }

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

    func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

struct AppCall: Sendable {
    let call: Call
    let app: App
}

struct ScopedCall: Sendable {
    let call: Call
    let scope: Scope

    var registry: Registry { call.registry }
    var registrations: RegistrationMetrics { call.metrics.registrations }
    var who: UTF8Text { call.principal.who }
}
