import PostgresDriver
import RegistryCore

enum RegistrationTemplates {
    static func statements(of input: RegistrationStatements) -> [SQL] {
        guard let templates = (input.isDistributed ? distributed : all)[input.batch.shape] else {
            preconditionFailure("every shape has its templates")
        }
        return templates.statements(of: input)
    }

    static let all = make(isDistributed: false)
    private static let distributed = make(isDistributed: true)

    private static func make(
        isDistributed: Bool
    ) -> [RegistrationBatch.Shape: TemplatedStatements<RegistrationStatements>] {
        Dictionary(
            uniqueKeysWithValues: RegistrationBatch.Shape.all.map { shape in
                let batch = RegistrationBatch(sampleOf: shape)
                let sample = RegistrationStatements(batch: batch, scope: .sample, isDistributed: isDistributed)
                return (
                    shape,
                    TemplatedStatements(sample: sample, values: { $0.batch.values + $0.scope.values }, make: \.all)
                )
            }
        )
    }

    static let valueNames = RegistrationBatch.valueNames + Scope.valueNames
}
