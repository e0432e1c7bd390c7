import RegistryCore
import RegistryServer
import RegistryStore

extension Database {
    /// Findings that stop `serve` are first. `serve` reports the first one, `doctor` all.
    func findings() async throws -> [Finding] {
        // First, because its errors name the cause if Postgres does not answer.
        let schema = try await finding { try await migrator.checkCompatible() }
        let condition: DatabaseCondition
        do {
            condition = try await registry.databaseCondition()
        } catch {
            guard let pooler = try await finding(pool.refuseSharedSessions) else { throw error }
            return [pooler]
        }
        // With such a pooler, no other result is reliable.
        if let pooler = try await finding(pool.refuseSharedSessions) { return [pooler] }
        let right = schema?.code == .schemaBehind ? Finding(migrating: condition) : nil
        let findings = [right, schema].compactMap(\.self) + condition.findings
        return findings.filter(\.code.stopsService) + findings.filter { !$0.code.stopsService }
    }

    private func finding(_ check: () async throws -> Void) async throws -> Finding? {
        do {
            try await check()
            return nil
        } catch let error as SchemaError {
            return Finding(error)
        } catch let error as SharedSessions {
            return Finding(error)
        }
    }
}
