import Foundation
import Testing

@testable import pushreg

@Suite struct LineReaderTests {
    /// Lines near the maximum length, near the length of a chunk, and short ones.
    private static func file(_ generator: inout SystemRandomNumberGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let lengths = [0...3, 65_530...65_540, 131_000...131_080, 262_100...262_200, 10...2000]
            let length = Int.random(in: lengths.randomElement(using: &generator)!, using: &generator)
            // "[" and "{" alone on the first line begin other formats, which `begin` refuses.
            let byte = (UInt8(0x20)...0xFF).filter { $0 != 0x5B && $0 != 0x7B }.randomElement(using: &generator)!
            bytes += [UInt8](repeating: byte, count: length) + [0x0A]
        }
        return Bool.random(using: &generator) ? bytes : Array(bytes.dropLast(Int.random(in: 0...40, using: &generator)))
    }

    @Test func `The lines of any file are read unchanged`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<60 {
            let bytes = Self.file(&generator)
            let path = "/tmp/pushreg-lines-\(UUID())"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let descriptor = open(path, O_RDONLY)
            defer {
                close(descriptor)
                unlink(path)
            }
            var reader = LineReader(descriptor)
            var expected = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
            let isCutOff = expected.last?.isEmpty == false
            if !isCutOff { expected.removeLast() }
            var offset = 0
            for (index, line) in expected.enumerated() {
                let read = try #require(try reader.next())
                let hasNewline = !(isCutOff && index == expected.count - 1)
                offset += line.count + (hasNewline ? 1 : 0)
                // Outside the expectation, which would compute a difference of many bytes.
                let isSame = read.text == (line.count > LineReader.maximumLine ? nil : line)
                #expect(isSame, "\(expected.map(\.count)), line \(index)")
                #expect(reader.offset == offset)
                #expect(reader.number == index + 1)
            }
            #expect(try reader.next() == nil)
        }
    }
}
