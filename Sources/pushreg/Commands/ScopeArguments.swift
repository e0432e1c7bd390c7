import ArgumentParser
import Foundation
import RegistryCore
import RegistryStore

struct ScopeArguments: ParsableArguments {
    @Argument(help: "The bundle id, such as com.example.food.") var bundleID: String
    @Argument(help: "sandbox or production.") var environment: String
    @Flag(help: "Prints JSON.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions

    func withRegistry<Result: Sendable>(
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (Registry, Scope) async throws -> Result
    ) async throws -> Result {
        guard let environment = APNSEnvironment(rawValue: environment) else {
            throw CommandFailure(.usage, "ENVIRONMENT must be sandbox or production.")
        }
        let bundleID = try Apps.bundleID(bundleID)
        return try await database.withDatabase(limits: limits) { database in
            guard let app = try await database.registry.app(bundleID) else { throw CommandFailure.noApp(bundleID) }
            return try await body(database.registry, Scope(app: app, environment: environment))
        }
    }
}

func readAlias(kind: String, value: String) throws(CommandFailure) -> Alias {
    guard (try? Alias.kind(kind)) != nil else {
        throw CommandFailure(
            .usage,
            "KIND must be a letter, then letters, digits, '_', '.' or '-', with at most 64 characters."
        )
    }
    do throws(JSONFaultReason) {
        return try Alias(kind: kind, value: value)
    } catch {
        throw CommandFailure(.usage, "VALUE \(error.detail).")
    }
}

func readOption<Value>(
    _ flag: String,
    _ text: String?,
    _ make: (String) throws(JSONFaultReason) -> Value
) throws(CommandFailure) -> Value? {
    guard let text else { return nil }
    do throws(JSONFaultReason) {
        return try make(text)
    } catch {
        throw CommandFailure(.usage, "\(flag) \(error.detail).")
    }
}

/// The filters of `audit stale` and `purge`.
struct StaleOptions: ParsableArguments {
    @Option(help: "Only tokens of this kind, such as update, start, device, widget or voip.") var kind: String?
    @Option(help: "Only tokens of this attributes type.") var attributesType: String?
    @Option(help: "Only tokens with this reason: unconfirmed, expired or quarantined.") var reason: String?
    @Option(help: "The time after which a token counts as unconfirmed, such as PT2H.") var unconfirmedFor: String?

    func filter() throws(CommandFailure) -> StaleFilter {
        var filter = StaleFilter()
        filter.kind = kind.map(TokenKind.init(stored:))
        filter.attributesType = try readOption("--attributes-type", attributesType, AttributesType.init)
        filter.reason = try readOption("--reason", reason) { text throws(JSONFaultReason) in
            if let reason = StaleReason(rawValue: text) { return reason }
            throw JSONFaultReason("must be one of \(StaleReason.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        filter.unconfirmedFor = try readOption("--unconfirmed-for", unconfirmedFor, StaleFilter.duration)
        return filter
    }

    func checkKind(of app: App) throws { _ = try readOption("--kind", kind, StaleFilter.kind(of: app)) }
}
