import Foundation

/// The provisioning profile of an app: a property list inside a signed message (CMS). The signature is not checked here: iOS did.
enum ProvisioningProfile {
    /// The environment that its entitlement `aps-environment` names; nil when it has none.
    static func environment(_ profile: Data) -> APNSEnvironment? {
        switch entitlement(profile) {
        case "development": .sandbox
        case "production": .production
        default: nil
        }
    }

    private static func entitlement(_ profile: Data) -> String? {
        // Messages of indefinite length hold their content in pieces, with a header in front of each.
        for candidate in [list(in: profile), list(in: octets(of: profile))].compactMap(\.self) {
            guard let list = try? PropertyListSerialization.propertyList(from: candidate, format: nil),
                let entitlements = (list as? [String: Any])?["Entitlements"] as? [String: Any]
            else { continue }
            return names.lazy.compactMap { entitlements[$0] as? String }.first
        }
        return nil
    }

    /// On iOS, and on macOS.
    private static let names = ["aps-environment", "com.apple.developer.aps-environment"]

    /// From the first `<?xml` or `<plist` to the last `</plist>`.
    private static func list(in data: Data) -> Data? {
        guard let start = data.range(of: Data("<?xml".utf8)) ?? data.range(of: Data("<plist".utf8)),
            let end = data.range(of: Data("</plist>".utf8), options: .backwards), start.lowerBound < end.upperBound
        else { return nil }
        return data[start.lowerBound..<end.upperBound]
    }

    /// The contents of all primitive octet strings (X.690, tag 4), one after the other.
    private static func octets(of data: Data) -> Data {
        var (rest, octets) = (data[...], Data())
        while let element = BERElement(&rest) {
            if element.isOctetString { octets += element.content }
            // Within a constructed element the next one follows its header at once.
            if element.isConstructed { rest = data[element.content.startIndex...] }
        }
        return octets
    }
}

/// One element of the Basic Encoding Rules: tag, length, content.
private struct BERElement {
    let tag: UInt8
    let content: Data

    var isConstructed: Bool { tag & 0x20 != 0 }
    var isOctetString: Bool { tag == 4 }

    /// Takes the next element; nil at the end, or where there is none.
    init?(_ rest: inout Data) {
        guard let tag = rest.popFirst(), let length = rest.popFirst() else { return nil }
        self.tag = tag
        if tag & 0x1f == 0x1f { return nil }
        var count = Int(length)
        if length == 0x80 {
            count = rest.count
        } else if length > 0x80 {
            guard length <= 0x84, rest.count >= Int(length & 0x7f) else { return nil }
            count = rest.prefix(Int(length & 0x7f)).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(Int(length & 0x7f))
        }
        guard count <= rest.count else { return nil }
        content = rest.prefix(count)
        rest = rest.dropFirst(count)
    }
}
