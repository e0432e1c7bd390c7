import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct MemoryReturnTests {
    /// Small allocations with the last one still in use, so that the allocator keeps the free memory below it.
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
        #expect(before - MemoryReturn.residentBytes > count * size / 2)
    }
}
