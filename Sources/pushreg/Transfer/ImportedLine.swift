import Foundation
import RegistryCore
import RegistryStore

struct ImportedLine: Sendable {
    let number: Int
    /// Without the newline. Nil if the line is too long.
    let text: [UInt8]?

    /// - Throws: the fault. It contains no text of the line except names of documented members.
    func record(in app: App) throws(JSONFaultReason) -> TransferRecord {
        guard let text else { throw JSONFaultReason("It is longer than \(LineReader.maximumLine / 1024) KiB.") }
        let value: JSONValue
        do {
            value = try JSONParser.parse(text, maximumDepth: JSONParser.deepestNesting)
        } catch {
            throw JSONFaultReason("It is not JSON: \(error.description)")
        }
        var json = JSONReader(value)
        let record = TransferRecord.read(&json, kinds: app.settings.allTokenKinds) {
            InstallationHash(of: $0, in: app.bundleID)
        }
        guard let record else {
            let fault = json.faults.first
            let names = fault?.pointer.split(separator: "/") ?? []
            // Only the first member of the pointer, because later keys come from the input.
            let member = names.first.map { "\(names.count > 1 ? "A member of " : "")\"\($0)\"" } ?? "It"
            throw JSONFaultReason("\(member) \(fault?.detail ?? "is not a record").")
        }
        return record
    }
}
