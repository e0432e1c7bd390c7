import HTTPTypes
import RegistryCore

/// An answer with a complete body, as for hot calls and problems.
struct WholeAnswer: AnswerHead {
    let status: HTTPResponse.Status
    var fields: HTTPFields
    let body: [UInt8]
    var contentPolicy: String? { nil }

    static func json(_ status: HTTPResponse.Status = .ok, _ value: some JSONEncodable) -> WholeAnswer {
        WholeAnswer(status: status, fields: [.contentType: MediaType.json], body: value.jsonBytes)
    }

    static func json(
        _ status: HTTPResponse.Status = .ok,
        reservingCapacity capacity: Int = 1024,
        _ members: (inout JSONWriter) -> Void
    ) -> WholeAnswer {
        var json = JSONWriter(reservingCapacity: capacity)
        json.object(members)
        return WholeAnswer(status: status, fields: [.contentType: MediaType.json], body: json.bytes)
    }
}

extension Answer {
    init(_ whole: WholeAnswer) {
        self.init(status: whole.status, fields: whole.fields, body: .bytes(whole.body))
    }
}
