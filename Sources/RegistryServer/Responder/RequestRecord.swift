import HTTPTypes
import Logging
import NIOCore

extension RegistryResponder {
    struct RequestRecord: Sendable {
        let method: HTTPRequest.Method
        let fields: HTTPFields
        let located: RoutedRequest?
        var isPage = false
        let metrics: RouteMetrics?
        let refusals: RefusalMetrics
        let requestID: String
        let start: NIODeadline

        /// The response for a result; counts it, and logs it with internal errors.
        func response(_ result: Result<Response, any Error>, _ logger: Logger) -> Response {
            let duration = NIODeadline.now() - start
            var response: Response
            switch result {
            case .success(let made): response = made
            case .failure(let error):
                refusals.count(error)
                response =
                    isPage
                    ? .page(of: error, requestID: requestID, logger: named(logger))
                    : Response(error, requestID: requestID, logger: named(logger))
            }
            response.requestID = requestID
            metrics?.count(response.status, after: duration)
            // Few operators log requests, and metadata costs as much as the request's own work here.
            if logger.logLevel <= .debug { named(logger).debug("request", metadata: summary(of: response, duration)) }
            return response
        }

        /// The log with the request's id, and the caller's trace.
        private func named(_ logger: Logger) -> Logger {
            var logger = logger
            logger[metadataKey: "request-id"] = "\(requestID)"
            if let trace = TraceParent(fields[TraceParent.field]) {
                logger[metadataKey: "trace-id"] = "\(trace.traceID)"
                logger[metadataKey: "parent-id"] = "\(trace.parentID)"
            }
            return logger
        }

        /// The template instead of the path, which may contain an installation's id.
        private func summary(of response: Response, _ duration: TimeAmount) -> Logger.Metadata {
            [
                "method": "\(method.rawValue.prefix(16))",
                "route": "\(located?.match.route.template ?? "-")",
                "status": "\(response.status.code)",
                "milliseconds": "\(Double(duration.nanoseconds) / 1e6)",
            ]
        }
    }
}
