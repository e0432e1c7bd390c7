import Foundation
import RegistryClientTestSupport
import Testing

@testable import RegistryClient

/// C10, C11: the true file.
@Suite struct FileStorageTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reports-\(UUID().uuidString)")
    private var file: URL { folder.appendingPathComponent("inner/reports.json") }

    private func content(of storage: FileStorage) -> StoredContent {
        var content = StoredContent.unreadable
        _ = storage.change {
            content = $0
            return .keep
        }
        return content
    }

    @Test("What was written is read, and none before") func writtenAndRead() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = FileStorage(file: file)
        #expect(content(of: storage) == .none)
        #expect(storage.change { _ in .replace(Data("one".utf8)) })
        #expect(content(of: FileStorage(file: file)) == .bytes(Data("one".utf8)))
    }

    @Test("A file that cannot be read is told apart from none") func unreadable() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        #expect(content(of: FileStorage(file: file)) == .unreadable)
        let place = folder.appendingPathComponent("plain")
        try Data().write(to: place)
        #expect(content(of: FileStorage(file: place.appendingPathComponent("reports.json"))) == .unreadable)
    }

    @Test("A foreign file is kept under another name") func setAside() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = FileStorage(file: file)
        for text in ["first", "second"] {
            _ = storage.change { _ in .replace(Data(text.utf8)) }
            #expect(storage.change { _ in .setAside(Data("ours".utf8)) })
            let other = folder.appendingPathComponent("inner/reports.unknown.json")
            #expect(try Data(contentsOf: other) == Data(text.utf8))
        }
        #expect(content(of: storage) == .bytes(Data("ours".utf8)))
    }

    @Test("Reading and writing is one step, whoever else does it") func locked() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = file
        _ = FileStorage(file: file).change { _ in .replace(Data("0".utf8)) }
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<25 {
                let isDone = FileStorage(file: file).change { content in
                    guard case .bytes(let bytes) = content else { return .keep }
                    let number = Int(String(decoding: bytes, as: UTF8.self)) ?? 0
                    return .replace(Data("\(number + 1)".utf8))
                }
                #expect(isDone)
            }
        }
        #expect(content(of: FileStorage(file: file)) == .bytes(Data("200".utf8)))
    }
}
