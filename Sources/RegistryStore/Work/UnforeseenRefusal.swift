/// A statement touched nothing, for no cause that there should be.
struct UnforeseenRefusal: Error, CustomStringConvertible {
    let description = "a statement touched nothing, and nothing says why"
}
