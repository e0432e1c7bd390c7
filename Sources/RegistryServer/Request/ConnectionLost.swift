/// The connection broke, or sent invalid HTTP, before the request was whole: no answer is possible.
struct ConnectionLost: Error {
    let cause: any Error
}
