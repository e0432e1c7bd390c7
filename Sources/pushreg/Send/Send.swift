import ArgumentParser
import Foundation
import RegistryCore
import RegistryStore

/// `pushreg send`: a developer tries a push to an activity, or starts one.
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends a push to the activities of an alias, or starts one, to try it.",
        discussion: """
            It does what a sender does: asks the registry for the tokens, pushes to each by APNs, one after the other, and \
            reports what APNs answered. What goes out and what comes back is printed, tokens as fingerprints.

            With --start it asks for a plan, takes the leases and starts the activity where none runs; where one runs it \
            sends the update.

            Exit codes: 0 APNs took every push, 1 it refused one or there was nothing to push to, 64 used wrongly, 69 APNs \
            or the database is not available.
            """
    )

    @Argument(help: "The bundle id, such as com.example.food.") var bundleID: String
    @Argument(help: "sandbox or production.") var environment: String
    @Argument(help: "The alias's kind, such as liveactivityId.") var kind: String
    @Argument(help: "The alias's value.") var value: String
    @OptionGroup(title: "Content") var content: ContentOptions
    @OptionGroup(title: "Starting") var starting: StartOptions
    @OptionGroup(title: "APNs") var apns: APNSOptions
    @Flag(help: "Prints what would be sent; sends nothing, takes no lease, reports nothing.") var dryRun = false
    @Flag(help: "Prints a line of JSON for each push.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions

    func run() async throws {
        let now = Date()
        let alias = try readAlias(kind: kind, value: value)
        let content = try content.read()
        let start = try starting.read(for: alias, with: content)
        let payloads = try PushPayloads(content, start, at: now)
        let (address, root, key) = (try apns.address(), try apns.root(), try apns.key(isNeeded: !dryRun))
        let authorization = try key?.token(at: now)
        try await database.withScope(bundleID, environment) { registry, scope in
            let plan = try start?.request(in: scope.app)
            let apns = APNSAddress(given: address, root: root, environment: scope.environment)
            let pushes = PushMaker(payloads: payloads, priority: content.priority, now: now, app: scope.app.bundleID)
            let printer = PushPrinter(address: apns.base, usesJSON: json)
            try await APNSConnection.lend(to: apns, dryRun ? nil : authorization) { connection in
                var delivery = Delivery(
                    registry: registry,
                    scope: scope,
                    alias: alias,
                    pushes: pushes,
                    connection: connection,
                    printer: printer
                )
                try await delivery.run(plan)
            }
        }
    }
}
