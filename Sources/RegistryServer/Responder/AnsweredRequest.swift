import HTTPTypes
import Logging
import NIOCore

extension RegistryResponder {
    /// A request as an answer, the metrics and the log tell of it.
    struct AnsweredRequest: Sendable {
        let method: HTTPRequest.Method
        let fields: HTTPFields
        let located: RoutedRequest?
        /// Whether what is wrong is told by a page of the console.
        var isPage = false
        let meters: RouteMeters?
        let refusals: RefusalMeters
        let requestID: String
        let start: NIODeadline

        /// The answer to what came of the request; counts it, and logs it and what went wrong within.
        func answer(_ result: Result<Answer, any Error>, _ logger: Logger) -> Answer {
            answer(result, logger) { error in
                isPage
                    ? .page(of: error, requestID: requestID, logger: named(logger))
                    : Answer(WholeAnswer(error, requestID: requestID, logger: named(logger)))
            }
        }

        /// The same for what cannot be streamed.
        func answer(_ result: Result<WholeAnswer, any Error>, _ logger: Logger) -> WholeAnswer {
            answer(result, logger) { WholeAnswer($0, requestID: requestID, logger: named(logger)) }
        }

        private func answer<Made: AnswerHead>(
            _ result: Result<Made, any Error>,
            _ logger: Logger,
            telling: (any Error) -> Made
        ) -> Made {
            let duration = NIODeadline.now() - start
            let answer: Made
            switch result {
            case .success(let made): answer = made
            case .failure(let error):
                refusals.count(error)
                answer = telling(error)
            }
            meters?.count(answer.status, after: duration)
            // Nobody wants most requests logged, and metadata costs as much as their own work here.
            if logger.logLevel <= .debug { named(logger).debug("request", metadata: summary(of: answer, duration)) }
            return answer
        }

        /// The log with the names by which the request is found again: ours, and that of the caller's trace.
        private func named(_ logger: Logger) -> Logger {
            var logger = logger
            logger[metadataKey: "request-id"] = "\(requestID)"
            if let trace = TraceParent(fields[TraceParent.field]) {
                logger[metadataKey: "trace-id"] = "\(trace.traceID)"
                logger[metadataKey: "parent-id"] = "\(trace.parentID)"
            }
            return logger
        }

        /// The request's template and never its path, which may hold an installation's id.
        private func summary(of answer: some AnswerHead, _ duration: TimeAmount) -> Logger.Metadata {
            [
                "method": "\(method.rawValue.prefix(16))",
                "route": "\(located?.match.route.template ?? "-")",
                "status": "\(answer.status.code)",
                "milliseconds": "\(Double(duration.nanoseconds) / 1e6)",
            ]
        }
    }
}
