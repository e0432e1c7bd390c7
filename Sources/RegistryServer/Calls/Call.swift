import HTTPTypes
import RegistryCore
import RegistryStore

/// A request whose route is known and whose caller may make it. A class, for it is handed on often, and has much to copy.
final class Call: Sendable {
    let registry: Registry
    let access: AccessState
    let principal: Principal
    let parameters: PathParameters
    let query: Query
    let fields: HTTPFields
    /// `null` where the route takes no body.
    let body: JSONValue
    /// The body that the call reads itself, where it came as NDJSON and the route takes that.
    let lines: BodyLines?
    let feedback: FeedbackRecorder
    let metrics: ServiceMetrics
    let shutdownNotice: ShutdownNotice

    init(
        to responder: RegistryResponder,
        _ located: RegistryResponder.Located,
        _ fields: HTTPFields,
        by principal: Principal,
        body: JSONValue = .null,
        lines: BodyLines? = nil
    ) {
        registry = responder.registry
        access = responder.access
        self.principal = principal
        parameters = located.match.parameters
        query = located.target.query
        self.fields = fields
        self.body = body
        self.lines = lines
        feedback = responder.feedback
        metrics = responder.metrics
        shutdownNotice = responder.shutdownNotice
    }

    var apps: AppDirectory { access.apps }

    /// What stands in a place of the path's template.
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
    var who: String { call.principal.who }
}
