import Foundation
import RegistryCore
import RegistryStore

struct ImportedLine: Sendable {
    let number: Int
    /// Without the newline. Nil if the line is too long.
    let text: [UInt8]?

    /// The outcome without a write: a line that can be read counts as taken.
    func dryOutcome(in app: App) -> LineOutcome {
        switch record(in: app) {
        case .success: .taken
        case .failure(let reason): .faulty(reason.detail)
        }
    }

    /// Reads the line.
    ///
    /// - Returns: the record, or the fault. The fault contains no text of the line except names of documented members.
    func record(in app: App) -> Result<TransferRecord, JSONFaultReason> {
        guard let text else {
            return .failure(JSONFaultReason("It is longer than \(LineReader.maximumLine / 1024) KiB."))
        }
        let value: JSONValue
        do {
            value = try JSONParser.parse(text, maximumDepth: JSONParser.deepestNesting)
        } catch {
            return .failure(JSONFaultReason("It is not JSON: \(error.description)"))
        }
        var json = JSONReader(value)
        let record = TransferRecord.read(&json, kinds: app.settings.allTokenKinds) {
            InstallationHash(of: $0, in: app.bundleID)
        }
        guard let record else {
            let fault = json.faults.first
            // Only the first member of the pointer, because later keys come from the input.
            let member = fault?.pointer.split(separator: "/").first.map { "\"\($0)\"" } ?? "It"
            return .failure(JSONFaultReason("\(member) \(fault?.detail ?? "is not a record")."))
        }
        return .success(record)
    }
}
