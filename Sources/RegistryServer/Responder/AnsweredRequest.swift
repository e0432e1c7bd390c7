import HTTPTypes
import Logging
import NIOCore

extension RegistryResponder {
    struct AnsweredRequest: Sendable {
        let method: HTTPRequest.Method
        let fields: HTTPFields
        let located: RoutedRequest?
        var isPage = false
        let meters: RouteMeters?
        let refusals: RefusalMeters
        let requestID: String
        let start: NIODeadline

        /// The answer for a result; counts it, and logs it with internal errors.
        func answer(_ result: Result<Answer, any Error>, _ logger: Logger) -> Answer {
            answer(result, logger) { error in
                isPage
                    ? .page(of: error, requestID: requestID, logger: named(logger))
                    : Answer(WholeAnswer(error, requestID: requestID, logger: named(logger)))
            }
        }

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
            // Few operators log requests, and metadata costs as much as the request's own work here.
            if logger.logLevel <= .debug { named(logger).debug("request", metadata: summary(of: answer, duration)) }
            return answer
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
