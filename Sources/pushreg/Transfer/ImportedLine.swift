import Foundation
import RegistryCore
import RegistryStore

struct ImportedLine: Sendable {
    let number: Int
    /// Without the newline. Nil if the line is too long.
    let text: [UInt8]?

    /// The outcome of a dry run: a readable line counts as taken.
    func dryOutcome(in app: BundleID) -> LineOutcome {
        switch record(in: app) {
        case .success: .taken
        case .failure(let reason): .faulty(reason.detail)
        }
    }

    /// The failure quotes only names of our own members, never the line.
    func record(in app: BundleID) -> Result<TransferRecord, JSONFaultReason> {
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
        let record = TransferRecord.read(&json) { InstallationHash(of: $0, in: app) }
        guard let record else {
            let fault = json.faults.first
            // Only the first member of the pointer, because later keys come from the input.
            let member = fault?.pointer.split(separator: "/").first.map { "\"\($0)\"" } ?? "It"
            return .failure(JSONFaultReason("\(member) \(fault?.detail ?? "is not a record")."))
        }
        return .success(record)
    }
}
