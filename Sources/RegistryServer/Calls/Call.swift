import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization

/// A request with a known route and a permitted caller. A class because it is passed on often, and large.
final class Call: Sendable {
    private let parts: ServiceParts
    let principal: Principal
    let parameters: PathParameters
    let query: Query
    let fields: HTTPFields
    let network: CallerNetwork?
    /// Whether the caller prefers NDJSON to JSON.
    let wantsLines: Bool
    /// Nil for routes without a body, and after reading.
    private let body: Mutex<ReceivedBody?>
    /// An NDJSON body, which the call itself reads.
    let lines: BodyLines?
    /// The connection's event loop, for work that this call starts.
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

    /// Reads the body once and releases it: during the wait for Postgres only its parsed form is held.
    func readBody<Value>(_ read: (inout JSONReader) throws -> Value) rethrows -> Value {
        let body = body.withLock { $0.take() }
        var json = JSONReader(body?.json ?? .null)
        return try read(&json)
    }

    /// Reads the body as one value.
    ///
    /// - Throws: `JSONFaults`, with every fault.
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
