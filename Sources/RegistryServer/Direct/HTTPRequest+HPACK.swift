import HTTPTypes
import NIOHPACK

extension HTTPRequest {
    /// Nil for an unusual HTTP/2 header, which the usual way examines.
    init?(ordinary headers: HPACKHeaders) {
        var (method, scheme, authority, path): (Method?, String?, String?, String?)
        var fields = HTTPFields()
        for (name, value, _) in headers {
            switch name {
            case ":method": method = Method(value)
            case ":scheme": scheme = value
            case ":authority": authority = value
            case ":path": path = value
            default:
                guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { return nil }
                fields.append(HTTPField(name: name, value: value))
            }
        }
        guard let method, let path else { return nil }
        self.init(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
    }
}
