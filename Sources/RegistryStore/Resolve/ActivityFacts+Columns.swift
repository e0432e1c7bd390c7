import PostgresDriver
import RegistryCore

extension ActivityFacts {
    static func columns(of row: String) -> Columns<ActivityFacts> {
        Columns(
            .one("\(row).attributes_type"),
            .one("\(row).frequent_pushes_enabled"),
            as: { (attributesType: AttributesType?, frequentPushesEnabled: Bool?) in
                var facts = ActivityFacts()
                (facts.attributesType, facts.frequentPushesEnabled) = (attributesType, frequentPushesEnabled)
                return facts
            }
        )
    }
}
