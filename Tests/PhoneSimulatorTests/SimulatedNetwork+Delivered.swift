import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

extension SimulatedNetwork {
    var installations: Set<String> { Set(delivered.compactMap { $0.fields["X-Installation-Id"] }) }

    /// The number of requests with this end of the path.
    func delivered(to path: String) -> Int { delivered.filter { $0.url.path.hasSuffix("/\(path)") }.count }

    func hasRegistered(_ activity: String) -> Bool {
        delivered.contains { $0.method == "PUT" && $0.url.path.hasSuffix("/activities/\(activity)") }
    }

    func reasons(ofEnd activity: String) -> Set<String> {
        let ends = delivered.filter { $0.method == "DELETE" && $0.url.path.hasSuffix("/activities/\(activity)") }
        let items = ends.compactMap { URLComponents(url: $0.url, resolvingAgainstBaseURL: false)?.queryItems }
        return Set(items.joined().filter { $0.name == "reason" }.compactMap(\.value))
    }

    /// The owners of requests about an activity: the `sub` of a JWT, or `key`.
    func authorities(of activity: String) -> Set<String> {
        let requests = delivered.filter { $0.url.path.hasSuffix("/activities/\(activity)") }
        return Set(requests.map { Issuer.subject(of: $0.fields["Authorization"] ?? "") ?? "key" })
    }
}
