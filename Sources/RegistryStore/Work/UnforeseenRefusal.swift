/// A statement touched nothing, for an unknown cause.
struct UnforeseenRefusal: Error, CustomStringConvertible {
    let description = "a statement touched nothing, and nothing says why"
}
