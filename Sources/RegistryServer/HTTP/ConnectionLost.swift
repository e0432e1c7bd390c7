/// The connection broke, or sent invalid HTTP, before the request or its response was complete. No response is
/// possible.
struct ConnectionLost: Error {}
