import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct MemoryReturnTests {
    /// Small pieces, of which the last one is still in use: free memory below it stays with the process of its own accord.
    @Test func `Freed memory returns to the system`() {
        let (count, size) = (200_000, 1000)
        var pieces = (0..<count).map { _ in
            let piece = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            piece.initializeMemory(as: UInt8.self, repeating: 1, count: size)
            return piece
        }
        let last = pieces.removeLast()
        defer { last.deallocate() }
        for piece in pieces { piece.deallocate() }
        let before = MemoryReturn.residentBytes
        MemoryReturn.trim()
        // Other tests take some meanwhile.
        #expect(before - MemoryReturn.residentBytes > count * size / 2)
    }
}
