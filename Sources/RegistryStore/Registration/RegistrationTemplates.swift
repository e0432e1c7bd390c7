import PostgresDriver
import RegistryCore

/// The statements of a batch of registrations, from the templates of its shape.
enum RegistrationTemplates {
    static func statements(of input: RegistrationStatements) -> [SQL] {
        guard let templates = all[input.batch.shape] else { preconditionFailure("every shape has its templates") }
        return templates.statements(of: input)
    }

    static let all = Dictionary(
        uniqueKeysWithValues: RegistrationBatch.Shape.all.map { shape in
            let sample = RegistrationStatements(batch: RegistrationBatch(sampleOf: shape), scope: .sample)
            return (
                shape, TemplatedStatements(sample: sample, values: { $0.batch.values + $0.scope.values }, make: \.all)
            )
        }
    )

    /// The names of the values.
    static let valueNames = RegistrationBatch.valueNames + Scope.valueNames
}
