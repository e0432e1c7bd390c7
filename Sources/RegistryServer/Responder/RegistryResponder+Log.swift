import HTTPTypes
import Logging
import NIOCore

extension RegistryResponder {
    /// Counts and logs a request, and makes the response of a failed one.
    ///
    /// - Parameter located: Nil if the request has no route.
    func response(
        _ result: Result<Response, any Error>,
        to request: Request,
        _ located: RoutedRequest?
    ) -> Response {
        let duration = NIODeadline.now() - request.start
        let requestID = RequestID.choose(request.fields[RequestID.field])
        var response: Response
        switch result {
        case .success(let made): response = made
        case .failure(let error):
            metrics.refusals.count(error)
            let isPage = located?.route.isPage ?? request.head.path.map(ConsoleLink.isOfConsole) ?? false
            response =
                isPage
                ? .page(of: error, requestID: requestID, logger: logger(of: request, requestID))
                : Response(error, requestID: requestID, logger: logger(of: request, requestID))
        }
        response.requestID = requestID
        (located?.route.metrics ?? metrics.unmatched).count(response.status, after: duration)
        // Skips the metadata below debug level, because it costs as much as the rest of the request here.
        guard logger.logLevel <= .debug else { return response }
        // The template and not the path, which can contain an installation id.
        let metadata: Logger.Metadata = [
            "method": "\(request.method.rawValue.prefix(16))",
            "route": "\(located?.route.template ?? "-")",
            "status": "\(response.status.code)",
            "milliseconds": "\(Double(duration.nanoseconds) / 1e6)",
        ]
        logger(of: request, requestID).debug("request", metadata: metadata)
        return response
    }

    private func logger(of request: Request, _ requestID: String) -> Logger {
        var logger = logger
        logger[metadataKey: "request-id"] = "\(requestID)"
        if let trace = TraceParent(request.fields[TraceParent.field]) {
            logger[metadataKey: "trace-id"] = "\(trace.traceID)"
            logger[metadataKey: "parent-id"] = "\(trace.parentID)"
        }
        return logger
    }
}
