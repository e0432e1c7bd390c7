/// A statement matched no row. The cause is unknown.
struct UnforeseenRefusal: Error, CustomStringConvertible {
    let description = "a statement matched no row, and the cause is unknown"
}
