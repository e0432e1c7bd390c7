import HTTPTypes

/// There is something at the path, but not with this method.
struct MethodNotAllowed: Error, Hashable {
    let allowed: [HTTPRequest.Method]
}
