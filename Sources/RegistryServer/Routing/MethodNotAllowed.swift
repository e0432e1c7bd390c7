import HTTPTypes

struct MethodNotAllowed: Error, Hashable {
    let allowed: [HTTPRequest.Method]
}
