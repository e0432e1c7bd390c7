import HTTPTypes
import NIOCore
import RegistryCore

struct ReceivedBody: Sendable {
    let json: JSONValue
    /// Nil if the body arrived in one read.
    let reservation: BodyReservation?
}

struct BodyReader: Sendable {
    let limits: ServerConfiguration.Limits
    /// Separate from `batches`, so that half-sent batches do not delay registrations.
    let singles: BodyBudget
    let batches: BodyBudget

    init(_ limits: ServerConfiguration.Limits) {
        self.limits = limits
        singles = BodyBudget(limits.singleBodiesUnderWay)
        batches = BodyBudget(limits.bodiesUnderWay)
    }

    /// Nil if the route expects no body.
    ///
    /// - Throws: `BodyBudgetIsSpent` before reading without room, `ConnectionLost` for an incomplete body, and the
    ///   errors of `parse`.
    func read(_ request: Request, as body: Route.Body, of network: CallerNetwork?) async throws -> ReceivedBody? {
        guard let limit = limit(of: body), !Self.isLines(request, body) else { return nil }
        let (bytes, reservation) = try await collect(request, upTo: limit, of: network)
        return ReceivedBody(json: try parse(bytes, request.fields), reservation: reservation)
    }

    /// - Throws: `unsupported-media-type`, `JSONSyntaxError`, `invalid-request` for too many values.
    func parse(_ bytes: ByteBuffer, _ fields: HTTPFields) throws -> JSONValue {
        if bytes.readableBytes > 0 { try Self.checkMediaType(fields) }
        do throws(JSONSyntaxError) {
            return try JSONParser.parse(bytes.readableBytesView, maximumValues: limits.bodyValues)
        } catch {
            guard error.hasTooManyValues else { throw error }
            let detail = "must have at most \(limits.bodyValues) JSON values; send fewer items at a time"
            throw Problem(faults: [JSONFault(pointer: "", detail: detail)])
        }
    }

    /// Nil unless the route accepts lines and the request has them. Reserves room for the lines read ahead.
    func lines(of request: Request, as body: Route.Body, for network: CallerNetwork?) throws -> BodyLines? {
        guard Self.isLines(request, body) else { return nil }
        let reservation = try batches.reserve(BodyLines.mostBytes, for: network)
        try Self.checkEncoding(request.fields)
        return BodyLines(request.body, deadline: limits.requestDeadline, holding: reservation)
    }

    private static func isLines(_ request: Request, _ body: Route.Body) -> Bool {
        body == .batchOrLines && request.fields[.contentType].map { MediaType($0).isLines } == true
    }

    private func limit(of body: Route.Body) -> Int? {
        switch body {
        case .none, .form: nil
        case .single: limits.singleBody
        case .batch, .batchOrLines: limits.batchBody
        }
    }

    /// A body that takes more than one read first reserves room.
    func collect(
        _ request: Request,
        upTo limit: Int,
        of network: CallerNetwork?
    ) async throws -> (ByteBuffer, BodyReservation?) {
        if let bytes = request.body.wholeBytes {
            guard bytes.readableBytes <= limit else { throw Self.tooLarge(limit) }
            return (bytes, nil)
        }
        let announced = request.fields[.contentLength].flatMap(Int.init)
        if let announced, announced > limit { throw Self.tooLarge(limit) }
        let budget = limit <= limits.singleBody ? singles : batches
        let reservation = try budget.reserve(max(0, announced ?? 0), for: network)
        var bytes = ByteBuffer()
        while var part = try await request.body.next() {
            let size = bytes.readableBytes + part.readableBytes
            guard size <= limit else { throw Self.tooLarge(limit) }
            if announced == nil { try reservation.grow(by: part.readableBytes) }
            // Allocates the final size, because growing needs twice the memory.
            if bytes.capacity == 0 { bytes.reserveCapacity(announced ?? size) }
            bytes.writeBuffer(&part)
        }
        return (bytes, reservation)
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.bodyTooLarge, "The body is larger than \(limit) bytes. Send less data or fewer items.")
    }

    static func checkMediaType(_ fields: HTTPFields) throws(Problem) {
        guard let text = fields[.contentType] else { throw unsupported("The request has no Content-Type.") }
        if text != MediaType.json {
            let type = MediaType(text)
            if type.name == MediaType.json, !type.isJSON {
                throw unsupported("The charset \((type.parameters["charset"] ?? "").prefix(32)) is not supported.")
            }
            guard type.isJSON else { throw unsupported("The Content-Type is not a JSON type.") }
        }
        try checkEncoding(fields)
    }

    private static func unsupported(_ fault: String) -> Problem {
        Problem(.unsupportedMediaType, "\(fault) Send JSON in UTF-8, and Content-Type: application/json.")
    }

    private static func checkEncoding(_ fields: HTTPFields) throws(Problem) {
        guard (fields[.contentEncoding] ?? "identity").lowercased() == "identity" else {
            throw Problem(.unsupportedMediaType, "The body must not be compressed.")
        }
    }
}
