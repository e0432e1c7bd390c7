import Foundation
import Testing

@testable import pushreg

/// Files of comma-separated values, read as they were written.
@Suite struct CSVReaderTests {
    /// The records of a file: the lines they stand on, and their fields, or the word of their fault.
    private static func read(_ bytes: [UInt8]) throws -> [(lines: ClosedRange<Int>, fields: [String])] {
        let path = "/tmp/pushreg-csv-\(UUID())"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let descriptor = open(path, O_RDONLY)
        defer {
            close(descriptor)
            unlink(path)
        }
        var reader = CSVReader(descriptor)
        var records: [(ClosedRange<Int>, [String])] = []
        while let record = try reader.next() {
            switch record.fields {
            case .success(let fields):
                records.append((record.lines, fields.map { String(decoding: $0, as: UTF8.self) }))
            case .failure(let fault): records.append((record.lines, ["\(fault)"]))
            }
        }
        #expect(reader.offset == bytes.count)
        return records
    }

    struct Golden: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let records: [[String]]
        let lines: [ClosedRange<Int>]

        init(_ description: String, _ text: String, _ records: [[String]], _ lines: [ClosedRange<Int>]) {
            (testDescription, self.text, self.records, self.lines) = (description, text, records, lines)
        }
    }

    static let long = String(repeating: "x", count: 65 * 1024)

    static let golden = [
        Golden("nothing", "", [], []),
        Golden("a byte order mark alone", "\u{FEFF}", [], []),
        Golden("plain fields", "a,b\nc,\n,d\n", [["a", "b"], ["c", ""], ["", "d"]], [1...1, 2...2, 3...3]),
        Golden("no end of the last line", "a,b\nc,d", [["a", "b"], ["c", "d"]], [1...1, 2...2]),
        Golden(
            "a byte order mark and CRLF",
            "\u{FEFF}a,b\r\n\"c\",d\r\n",
            [["a", "b"], ["c", "d"]],
            [1...1, 2...2]
        ),
        Golden("empty lines", "\n\r\na\n\n\nb\n", [["a"], ["b"]], [3...3, 6...6]),
        Golden("a field of nothing in quotes", "\"\"\n", [[""]], [1...1]),
        Golden("quotes", #""a ""b"" c","d,e",f"# + "\n", [[#"a "b" c"#, "d,e", "f"]], [1...1]),
        Golden("line breaks in a field", "\"a\nb\r\nc\",d\ne\n", [["a\nb\r\nc", "d"], ["e"]], [1...3, 4...4]),
        Golden("a quote within a field", "a\"b,c\nd\n", [["quoteWithin"], ["d"]], [1...1, 2...2]),
        Golden("words behind a quote", "\"a\"b,c\nd\n", [["quoteWithin"], ["d"]], [1...1, 2...2]),
        Golden("a quote that is left open", "a\n\"b\nc,d\n", [["a"], ["quoteLeftOpen"]], [1...1, 2...4]),
        Golden(
            "too long, over two lines",
            "a\n\"\(long)\n\",b\nc\n",
            [["a"], ["tooLong"], ["c"]],
            [1...1, 2...3, 4...4]
        ),
        Golden("a closed quote at the end", "\"a\"", [["a"]], [1...1]),
    ]

    @Test("Each form of RFC 4180 is read, and no other", arguments: golden)
    func eachFormIsRead(_ golden: Golden) throws {
        let read = try Self.read(Array(golden.text.utf8))
        #expect(read.map(\.fields) == golden.records)
        #expect(read.dropLast().map(\.lines) == Array(golden.lines.dropLast()))
        #expect(read.last?.lines.lowerBound == golden.lines.last?.lowerBound)
    }

    @Test("Any fields are read as they were written, over many chunks") func anyFieldsAreReadAsTheyWereWritten() throws
    {
        var generator = SystemRandomNumberGenerator()
        let pieces = ["a", "é", "\"", ",", "\n", "\r\n", " ", "0123456789abcdef", ""]
        for _ in 0..<4 {
            var (text, expected) = ("", [[String]]())
            for _ in 0..<8000 {
                let fields = (0..<Int.random(in: 2...8, using: &generator)).map { _ in
                    (0..<Int.random(in: 0...9, using: &generator)).map { _ in
                        pieces.randomElement(using: &generator) ?? ""
                    }
                    .joined()
                }
                expected.append(fields)
                let end = Bool.random(using: &generator) ? "\r\n" : "\n"
                text += fields.map { Self.written($0, &generator) }.joined(separator: ",") + end
            }
            let isSame = try Self.read(Array(text.utf8)).map(\.fields).elementsEqual(expected) {
                $0.elementsEqual($1) { $0.utf8.elementsEqual($1.utf8) }
            }
            #expect(isSame)
            #expect(text.utf8.count > 512 * 1024)
        }
    }

    /// In quotes where it must be, and sometimes where it need not.
    private static func written(_ field: String, _ generator: inout SystemRandomNumberGenerator) -> String {
        let mustBeQuoted = field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
        guard mustBeQuoted || Bool.random(using: &generator) else { return field }
        return "\"" + field.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}
