import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    func putChannel() async throws -> Response {
        var parameters = ParameterReader(call)
        let candidate = readAlias(&parameters)
        let body = parameters.body { json, _ in BroadcastChannel.read(&json) }
        let (alias, channel) = try parameters.checked(candidate, body)
        let isNew = try await registry.put(channel, for: alias, in: scope, by: who)
        return .channel(isNew ? .created : .ok, channel, of: alias)
    }

    func readChannel() async throws -> Response {
        let alias = try read(readAlias)
        guard let channel = try await registry.channel(of: alias, in: scope) else {
            throw Problem(.channelNotFound, "The alias has no channel in this app and environment.")
        }
        return .channel(.ok, channel, of: alias)
    }

    /// Succeeds without a channel, too.
    func deleteChannel() async throws -> Response {
        try await registry.deleteChannel(of: read(readAlias), in: scope, by: who)
        return .noContent
    }
}

extension Response {
    fileprivate static func channel(
        _ status: HTTPResponse.Status,
        _ channel: BroadcastChannel,
        of alias: Alias
    ) -> Response {
        .json(status) { json in
            json.member("alias", alias)
            channel.writeMembers(to: &json)
        }
    }
}
