import PostgresDriver
import RegistryCore

/// The statements of a batch of registrations, from the templates of its shape.
enum RegistrationTemplates {
    static func statements(of input: RegistrationStatements) -> [SQL] {
        all[input.batch.shape]?.statements(of: input) ?? input.made
    }

    static let all: [RegistrationBatch.Shape: TemplatedStatements<RegistrationStatements>] = {
        Dictionary(uniqueKeysWithValues: RegistrationBatch.Shape.all.map { ($0, templates(of: $0)) })
    }()

    private static func templates(of shape: RegistrationBatch.Shape) -> TemplatedStatements<RegistrationStatements> {
        let batch = RegistrationBatch(sampleOf: shape)
        return TemplatedStatements(
            sample: Scope.sample.map { RegistrationStatements(batch: batch, scope: $0) },
            values: { $0.batch.values + $0.scope.values },
            make: \.made
        )
    }

    /// The names of the values.
    static let valueNames = RegistrationBatch.valueNames + Scope.valueNames
}
