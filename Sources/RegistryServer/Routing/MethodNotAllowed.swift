import HTTPTypes

/// The path exists, but not with this method.
struct MethodNotAllowed: Error, Hashable {
    let allowed: [HTTPRequest.Method]
}
