/// The connection broke, or sent what is no HTTP, before the request was whole: there is nobody to answer.
struct ConnectionLost: Error {
    let cause: any Error
}
