import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization

/// A request whose route is known and whose caller may make it. A class, for it is handed on often, and has much to copy.
final class Call: Sendable {
    private let parts: ServiceParts
    let principal: Principal
    let parameters: PathParameters
    let query: Query
    let fields: HTTPFields
    /// Where the request comes from.
    let network: CallerNetwork?
    /// Whether the caller wants NDJSON where JSON may be had, too.
    let wantsLines: Bool
    /// Nil where the route takes no body, and once it was read.
    private let body: Mutex<ReceivedBody?>
    /// The body that the call reads itself, where it came as NDJSON and the route takes that.
    let lines: BodyLines?

    init(
        _ parts: ServiceParts,
        principal: Principal,
        parameters: PathParameters,
        query: Query,
        fields: HTTPFields,
        network: CallerNetwork?,
        wantsLines: Bool,
        body: ReceivedBody?,
        lines: BodyLines?
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
    }

    var registry: Registry { parts.registry }
    var access: AccessState { parts.access }
    var apps: AppDirectory { access.apps }
    var feedback: FeedbackRecorder { parts.feedback }
    var metrics: ServiceMetrics { parts.metrics }
    var shutdownNotice: ShutdownNotice { parts.shutdownNotice }
    var changeFeed: ChangeFeed { parts.changeFeed }

    /// Reads the body, once, and lets it go: nothing of it but what was made of it is held while Postgres is waited for.
    func readBody<Value>(_ read: (inout JSONReader) throws -> Value) rethrows -> Value {
        let body = body.withLock { $0.take() }
        var json = JSONReader(body?.json ?? .null)
        return try read(&json)
    }

    /// Reads the body as one value, whose faults are told together.
    ///
    /// - Throws: `JSONFaults`.
    func readChecked<Value>(_ read: (inout JSONReader) -> Value?) throws -> Value {
        let value = try readBody { json in
            let value = read(&json)
            try json.check()
            return value
        }
        guard let value else { throw Problem(faults: []) }
        return value
    }

    /// The value in a place of the path's template.
    func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

/// A call about one app, in whichever environment.
struct AppCall: Sendable {
    let call: Call
    let app: App
}

/// A call about one app in one environment.
struct ScopedCall: Sendable {
    let call: Call
    let scope: Scope

    var registry: Registry { call.registry }
    var registrations: RegistrationMeters { call.metrics.registrations }
    var who: UTF8Text { call.principal.who }
}
