/// A statement matched no row. The cause is unknown.
struct UnforeseenRefusal: Error, CustomStringConvertible {
    let description = "a statement touched nothing, and nothing says why"
}
