import ArgumentParser
import RegistryCore
import RegistryStore

struct ScopeArguments: ParsableArguments {
    @Argument(help: "The bundle id, such as com.example.food.", transform: BundleID.init(_:)) var bundleID: BundleID
    @Argument(help: "The environment of APNs.") var environment: APNSEnvironment
    @Flag(help: "Prints JSON.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions

    func withRegistry<Result: Sendable>(
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (Registry, Scope) async throws -> Result
    ) async throws -> Result {
        try await database.withDatabase(limits: limits) { database in
            guard let app = try await database.registry.app(bundleID) else { throw CommandFailure.noApp(bundleID) }
            return try await body(database.registry, Scope(app: app, environment: environment))
        }
    }
}

struct AliasArguments: ParsableArguments {
    @Argument(help: "The alias's kind, such as liveactivityId.", transform: Alias.kind) var kind: UTF8Text
    @Argument(help: "The alias's value.", transform: Alias.value) var value: UTF8Text

    var alias: Alias { Alias(checkedKind: kind, value: value) }
}

/// The filters of `audit stale` and `purge`.
struct StaleOptions: ParsableArguments {
    @Option(help: "Only tokens of this kind, such as update, start, device, widget or voip.") var kind: String?
    @Option(help: "Only tokens of this attributes type.", transform: AttributesType.init)
    var attributesType: AttributesType?
    @Option(help: "Only tokens with this reason.") var reason: StaleReason?
    @Option(help: "The time after which a token counts as unconfirmed, such as PT2H.", transform: StaleFilter.duration)
    var unconfirmedFor: Duration?

    func filter(of app: App) throws(CommandFailure) -> StaleFilter {
        var filter = StaleFilter()
        do throws(JSONFaultReason) {
            filter.kind = try kind.map(StaleFilter.kind(of: app))
        } catch { throw CommandFailure(.usage, "--kind \(error.detail).") }
        (filter.attributesType, filter.reason, filter.unconfirmedFor) = (attributesType, reason, unconfirmedFor)
        return filter
    }
}

extension APNSEnvironment: ExpressibleByArgument {}
extension Role: ExpressibleByArgument {}
extension StaleReason: ExpressibleByArgument {}
