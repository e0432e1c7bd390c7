import Foundation
import Testing

@testable import PushTokenRegistry

/// C10: the file on disk.
@Suite struct FileStorageTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reports-\(UUID().uuidString)")
    private var file: URL { folder.appendingPathComponent("inner/reports.json") }

    @Test func `The first write creates the file, and a read returns its content`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try FileStorage(file: file).read() == nil)
        #expect(FileStorage(file: file).write(Data("one".utf8)))
        #expect(try FileStorage(file: file).read() == Data("one".utf8))
    }

    @Test func `An unreadable file does not count as missing`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        #expect(throws: (any Error).self) { try FileStorage(file: file).read() }
        let plain = folder.appendingPathComponent("plain")
        try Data().write(to: plain)
        let below = FileStorage(file: plain.appendingPathComponent("reports.json"))
        #expect(throws: (any Error).self) { try below.read() }
    }

    @Test func `Setting a file aside keeps its content under another name`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = FileStorage(file: file)
        for text in ["first", "second"] {
            _ = try storage.read()
            #expect(storage.write(Data(text.utf8)))
            storage.setAside()
            #expect(try storage.read() == nil)
            let other = folder.appendingPathComponent("inner/reports.unknown.json")
            #expect(try Data(contentsOf: other) == Data(text.utf8))
        }
    }
}
