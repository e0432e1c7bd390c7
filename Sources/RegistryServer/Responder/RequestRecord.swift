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
            // Skips the metadata below debug level, because it costs as much as the rest of the request here.
            if logger.logLevel <= .debug { named(logger).debug("request", metadata: summary(of: response, duration)) }
            return response
        }

        private func named(_ logger: Logger) -> Logger {
            var logger = logger
            logger[metadataKey: "request-id"] = "\(requestID)"
            if let trace = TraceParent(fields[TraceParent.field]) {
                logger[metadataKey: "trace-id"] = "\(trace.traceID)"
                logger[metadataKey: "parent-id"] = "\(trace.parentID)"
            }
            return logger
        }

        /// Logs the template and not the path, which can contain an installation id.
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
