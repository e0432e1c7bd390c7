/// The connection broke, or sent invalid HTTP, before the request was whole or its response was taken: no response is possible.
struct ConnectionLost: Error {}
