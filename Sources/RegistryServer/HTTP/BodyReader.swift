import HTTPTypes
import NIOCore
import RegistryCore
import Synchronization

struct ReceivedBody: Sendable {
    var json = JSONValue.null
    /// Nil if the body arrived in one read.
    var reservation: BodyReservation?
    var lines: BodyLines?
}

struct BodyReader: Sendable {
    let limits: ServerConfiguration.Limits
    /// Separate from `batches`, so that half-sent batches do not delay registrations.
    let singles: BodyBudget
    let batches: BodyBudget
    /// For responses that are larger than a piece, until they are read.
    let responses: BodyBudget

    init(_ limits: ServerConfiguration.Limits) {
        self.limits = limits
        singles = BodyBudget(limits.singleBodiesUnderWay)
        batches = BodyBudget(limits.bodiesUnderWay)
        responses = BodyBudget(limits.unreadResponses)
    }

    /// Nil if the route expects no JSON.
    ///
    /// - Throws: `unavailable`, `ConnectionLost` for an incomplete body, and the errors of `parse`.
    func read(_ located: RoutedRequest) async throws -> ReceivedBody? {
        let limit: Int
        switch located.route.body {
        case .none, .form: return nil
        case .single: limit = limits.singleBody
        case .batchOrLines where located.fields.value(.contentType).map { MediaType($0).isLines } == true:
            // For the lines read ahead.
            let reservation = try batches.reserve(BodyLines.mostBytes, for: located.network)
            try Self.checkEncoding(located.fields)
            let lines = BodyLines(located.request.body, deadline: limits.requestDeadline, holding: reservation)
            return ReceivedBody(lines: lines)
        case .batch, .batchOrLines: limit = limits.batchBody
        }
        let (bytes, reservation) = try await collect(located, upTo: limit)
        return ReceivedBody(json: try parse(bytes, located.fields), reservation: reservation)
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

    /// A body that takes more than one read first reserves room.
    private func collect(_ located: RoutedRequest, upTo limit: Int) async throws -> (ByteBuffer, BodyReservation?) {
        if let bytes = located.request.body.wholeBytes {
            guard bytes.readableBytes <= limit else { throw Self.tooLarge(limit) }
            return (bytes, nil)
        }
        let announced = located.fields.value(.contentLength).flatMap(Int.init)
        if let announced, announced > limit { throw Self.tooLarge(limit) }
        let budget = limit <= limits.singleBody ? singles : batches
        let reservation = try budget.reserve(max(0, announced ?? 0), for: located.network)
        var bytes = ByteBuffer()
        while var part = try await located.request.body.next() {
            let size = bytes.readableBytes + part.readableBytes
            guard size <= limit else { throw Self.tooLarge(limit) }
            if announced == nil { try reservation.grow(by: part.readableBytes) }
            // Allocates the final size, because growing needs twice the memory.
            if bytes.capacity == 0 { bytes.reserveCapacity(announced ?? size) }
            bytes.writeBuffer(&part)
        }
        return (bytes, reservation)
    }

    func form(_ located: RoutedRequest) async throws -> Query {
        let type = MediaType(located.fields.value(.contentType) ?? "")
        guard type.name == "application/x-www-form-urlencoded" else {
            throw Problem(.unsupportedMediaType, "Expected a submitted form.")
        }
        let (bytes, reservation) = try await collect(located, upTo: limits.singleBody)
        defer { withExtendedLifetime(reservation) {} }
        // A plus is a space in forms.
        let text = String(buffer: bytes).replacing("+", with: "%20")
        return try Query(Substring(text))
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.bodyTooLarge, "The body is larger than \(limit) bytes. Send less data or fewer items.")
    }

    static func checkMediaType(_ fields: HTTPFields) throws(Problem) {
        guard let text = fields.value(.contentType) else { throw unsupported("The request has no Content-Type.") }
        if text != MediaType.json {
            let type = MediaType(text)
            if type.name == MediaType.json, !type.isJSON {
                throw unsupported("The charset \((type.charset ?? "").prefix(32)) is not supported.")
            }
            guard type.isJSON else { throw unsupported("The Content-Type is not a JSON type.") }
        }
        try checkEncoding(fields)
    }

    private static func unsupported(_ fault: String) -> Problem {
        Problem(.unsupportedMediaType, "\(fault) Send JSON in UTF-8, and Content-Type: application/json.")
    }

    private static func checkEncoding(_ fields: HTTPFields) throws(Problem) {
        guard (fields.value(.contentEncoding) ?? "identity").lowercased() == "identity" else {
            throw Problem(.unsupportedMediaType, "The body must not be compressed.")
        }
    }
}

/// Limits the memory of undecoded bodies or of unread responses, in total and by network.
///
/// A network gets at most an eighth of the total and a quarter of the free part. Shares shrink as use grows, so a few
/// networks cannot exclude others.
final class BodyBudget: Sendable {
    let capacity: Int
    fileprivate let state = Mutex((used: 0, byNetwork: [CallerNetwork: Int]()))
    init(_ capacity: Int) { self.capacity = capacity }
    var used: Int { state.withLock { $0.used } }

    /// Reserves room until the returned value is deallocated. `bytes` is the announced size, or 0.
    func reserve(_ bytes: Int, for network: CallerNetwork?) throws(Refusal) -> BodyReservation {
        let reservation = BodyReservation(of: self, for: network)
        try reservation.grow(by: bytes)
        return reservation
    }
}

final class BodyReservation: Sendable {
    private let budget: BodyBudget
    private let network: CallerNetwork?
    private let held = Mutex(0)

    fileprivate init(of budget: BodyBudget, for network: CallerNetwork?) {
        (self.budget, self.network) = (budget, network)
    }

    deinit {
        let bytes = held.withLock { $0 }
        budget.state.withLock { state in
            state.used -= bytes
            guard let network, let all = state.byNetwork[network] else { return }
            state.byNetwork[network] = all > bytes ? all - bytes : nil
        }
    }

    /// If it throws, the current reservation stays.
    func grow(by bytes: Int) throws(Refusal) {
        let isTaken = budget.state.withLock { state in
            let free = budget.capacity - state.used
            guard bytes <= free else { return false }
            if let network {
                let all = state.byNetwork[network, default: 0]
                guard all + bytes <= min(budget.capacity / 8, free / 4) else { return false }
                if bytes > 0 { state.byNetwork[network] = all + bytes }
            }
            state.used += bytes
            return true
        }
        guard isTaken else {
            let detail = "Too many request bodies or unread responses are in progress. Send the same request again."
            let problem = Problem(.unavailable, detail)
            // The unread part of the body still arrives, so the connection cannot be reused.
            throw Refusal(problem: problem, fields: [.connection: "close"], metric: .refusedBodies)
        }
        held.withLock { $0 += bytes }
    }
}
