import HTTPTypes
import NIOHPACK

extension HTTPRequest {
    /// The request of a header of HTTP/2; nil where something about it is out of the ordinary, which the usual way looks at.
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
