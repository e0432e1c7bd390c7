import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Makes the partitions into which the next days' events go, and drops those whose day has come.
    ///
    /// Any instance may do it at any time: an advisory lock makes the others skip it. What cannot be had at once, since
    /// somebody reads the table for long, is left for the next time.
    ///
    /// - Returns: the partitions made and dropped.
    public func renewEventPartitions() async throws -> (made: Int, dropped: Int) {
        let names = try await read { session in
            (
                made: try session.execute(EventPartitionStatements.missing).decode(String.self),
                dropped: try session.execute(EventPartitionStatements.past).decode(String.self)
            )
        }
        var (made, dropped) = (0, 0)
        for name in names.made where try await change(EventPartitionStatements.making(name)) { made += 1 }
        for name in names.dropped where try await change(EventPartitionStatements.dropping(name)) { dropped += 1 }
        // Events that came before their partition did are deleted the slow way.
        let apps = try await read { session in
            try session.execute(EventPartitionStatements.appsWithPast).decode(Int64.self)
        }
        for app in apps {
            while try await write({ try $0.execute(EventPartitionStatements.deletePast(of: app)).affectedRows }) > 0 {}
        }
        return (made, dropped)
    }

    /// - Returns: false when somebody else does it, or the table could not be had.
    private func change(_ commands: [String]) async throws -> Bool {
        try await write { session in
            do {
                return try session.transaction { transaction in
                    let isOurs = try transaction.execute(EventPartitionStatements.lock)[0].decode(Bool.self)
                    guard isOurs else { return false }
                    for command in commands { try transaction.simple(command) }
                    return true
                }
            } catch let error as PostgresError where EventPartitionStatements.mayWait(error) {
                return false
            }
        }
    }
}
