import PostgresDriver
import RegistryCore

/// A statement of a hot path and the meaning of its parameters, so that other programs can measure identical work.
package struct StatementOutline: Sendable, JSONEncodable {
    /// `resolve` or `resolve-many`; the statements of one path are sent in order, in one transaction.
    package let path: String
    /// The statement's text, with `$1`, `$2`, … for its parameters.
    package let sql: String
    /// The names of the values of `$1`, `$2`, …, and the OIDs of their types.
    package let parameters: [(name: String, type: UInt32)]

    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("path", path)
            json.member("sql", sql)
            json.array("parameters") { json in
                for (name, type) in parameters {
                    json.object { json in
                        json.member("name", name)
                        json.member("type", Int(type))
                    }
                }
            }
        }
    }

    package static var all: [StatementOutline] {
        outlines("resolve", ResolveTemplates.one.templates, ResolveTemplates.valueNames)
            + outlines("resolve-many", ResolveTemplates.many.templates, ResolveTemplates.valueNames)
    }

    private static func outlines(_ path: String, _ templates: [SQLTemplate]?, _ names: [String]) -> [StatementOutline] {
        (templates ?? []).map { template in
            let parameters = zip(template.places, template.types).map { (name: names[$0], type: $1.rawValue) }
            return StatementOutline(path: path, sql: template.text, parameters: parameters)
        }
    }
}
