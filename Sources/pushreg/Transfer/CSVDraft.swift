/// Why a record has no fields.
enum CSVFault: Error {
    case tooLong
    case quoteWithin
    case quoteLeftOpen

    var sentence: String {
        switch self {
        case .tooLong: "It is longer than \(CSVReader.maximumRecord / 1024) KiB."
        case .quoteWithin:
            "It has a quote where none may be: a field with quotes stands in quotes, and doubles those in it."
        case .quoteLeftOpen: "It has a quote that is left open to the end of the file."
        }
    }
}

/// A record that is being read, byte by byte.
struct CSVDraft {
    private enum Place {
        case fieldStart
        case plain
        case quoted
        /// Behind a quote that ends its field, unless another one follows.
        case closed
        /// Behind a fault: nothing counts before the next line.
        case broken
    }

    static let newline = UInt8(ascii: "\n")
    private static let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
    private static let carriageReturn = UInt8(ascii: "\r")

    private var place = Place.fieldStart
    private var fields: [[UInt8]] = []
    private var field: [UInt8] = []
    private var size = 0

    /// Nothing was read.
    var isUnbegun: Bool { size == 0 }

    /// Its line is empty.
    var isBlank: Bool {
        fields.isEmpty && (place == .fieldStart || place == .plain && field == [Self.carriageReturn])
    }

    /// - Returns: whether the record ends here.
    mutating func add(_ byte: UInt8) -> Bool {
        size += 1
        switch (place, byte) {
        case (.quoted, Self.quote): place = .closed
        case (.quoted, _): keep(byte)
        case (_, Self.newline): return true
        case (.broken, _), (.closed, Self.carriageReturn): break
        case (.closed, Self.quote):
            keep(byte)
            place = .quoted
        case (.fieldStart, Self.quote): place = .quoted
        case (_, Self.comma): endField()
        case (.plain, Self.quote), (.closed, _): place = .broken
        default:
            keep(byte)
            place = .plain
        }
        return false
    }

    /// The fields that were read, or the fault, once the record ends.
    ///
    /// - Parameter isWhole: whether the file goes on.
    mutating func finish(isWhole: Bool) -> Result<[[UInt8]], CSVFault> {
        if place == .quoted, !isWhole { return .failure(.quoteLeftOpen) }
        if size > CSVReader.maximumRecord { return .failure(.tooLong) }
        if place == .broken { return .failure(.quoteWithin) }
        if place == .plain, field.last == Self.carriageReturn { field.removeLast() }
        endField()
        return .success(fields)
    }

    private mutating func endField() {
        if size <= CSVReader.maximumRecord { fields.append(field) }
        field = []
        place = .fieldStart
    }

    /// Of what is too long nothing more is kept, but its end is found.
    private mutating func keep(_ byte: UInt8) {
        if size <= CSVReader.maximumRecord { field.append(byte) }
    }
}
