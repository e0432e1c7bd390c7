import HTTPTypes
import RegistryCore

/// An answer whose body is there whole, as those of hot calls and of problems are: none of it is left to be streamed.
struct WholeAnswer: AnswerHead {
    let status: HTTPResponse.Status
    var fields: HTTPFields
    let body: [UInt8]
    /// It is no page.
    var contentPolicy: String? { nil }

    /// An answer of one JSON value.
    static func json(_ status: HTTPResponse.Status = .ok, _ value: some JSONEncodable) -> WholeAnswer {
        WholeAnswer(status: status, fields: [.contentType: MediaType.json], body: value.jsonBytes)
    }

    /// An answer of one JSON object whose members the closure writes; large ones need not grow if they say how large.
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
    /// The same answer, for those who take streams, too.
    init(_ whole: WholeAnswer) {
        self.init(status: whole.status, fields: whole.fields, body: .bytes(whole.body))
    }
}
