import Crypto
import Foundation
import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore
import Synchronization

/// A permitted request. A class because it is large and passed on often.
final class Call: Sendable {
    let located: RoutedRequest
    let principal: Principal
    /// Nil if the route does not need it.
    private let app: App?
    private let environment: APNSEnvironment?
    let parts: ServiceParts
    /// Nil without a body, before it arrived, and after reading.
    private let body = Mutex<ReceivedBody?>(nil)

    init(
        _ located: RoutedRequest,
        _ principal: Principal,
        _ app: App?,
        _ environment: APNSEnvironment?,
        _ parts: ServiceParts
    ) {
        (self.located, self.principal, self.app, self.environment) = (located, principal, app, environment)
        self.parts = parts
    }

    var route: Route { located.route }
    var query: Query { located.query }
    var fields: HTTPFields { located.fields }
    var network: CallerNetwork? { located.network }
    var executor: any TaskExecutor { located.request.connection.executor }
    var lines: BodyLines? { body.withLock { $0?.lines } }
    var wantsLines: Bool { located.wantsLines }
    var registry: Registry { parts.registry }
    var metrics: ServiceMetrics { parts.metrics }

    /// The app that the path names, and its environment.
    var scope: Scope {
        get throws(Problem) {
            guard let environment else { throw Problem.unknownApp }
            return Scope(app: try namedApp(), environment: environment)
        }
    }

    func namedApp() throws(Problem) -> App {
        guard let app else { throw Problem.unknownApp }
        return app
    }

    func receive(_ body: ReceivedBody?) { self.body.withLock { $0 = body } }

    /// Reads the body once and frees it, so that only its parsed form stays in memory during the wait for Postgres.
    func readBody<Value>(_ read: (inout JSONReader) throws -> Value) rethrows -> Value {
        let body = body.withLock { $0.take() }
        var json = JSONReader(body?.json ?? .null)
        return try read(&json)
    }

    func readChecked<Value>(_ read: (inout JSONReader) -> Value?) throws -> Value {
        let value = try readBody { json in
            let value = read(&json)
            try json.check()
            return value
        }
        guard let value else { throw Problem(faults: []) }
        return value
    }

    func parameter(_ name: String) -> String { located.match[name] ?? "" }
}

struct ScopedCall: Sendable {
    let call: Call
    let scope: Scope

    var registry: Registry { call.registry }
    var registrations: RegistrationMetrics { call.metrics.registrations }
    var who: UTF8Text { call.principal.who }

    func read<Value>(_ read: (inout ParameterReader) -> Value?) throws(Problem) -> Value {
        var parameters = ParameterReader(call: call)
        let value = read(&parameters)
        return try parameters.checked(value)
    }

    func checkAliases(_ aliases: AliasSet?) throws(Problem) {
        guard let aliases else { return }
        try AliasPolicy(scope.app).check(aliases.aliases, by: call.principal)
    }

    /// A publishable key needs an installation, because only its id distinguishes callers with that key.
    func findClaimant(_ installation: InstallationHash?) throws(Problem) -> Claimant {
        guard call.principal.role == .client else { return .any }
        if let subject = call.principal.subject { return .subject(subject, installation) }
        if let installation { return .installation(installation) }
        throw Problem(
            .installationRequired,
            "A publishable key must name the installation: send X-Installation-Id, or installationId in the body."
        )
    }
}

extension Call {
    var isCounted: Bool { route.access != .everyone || route.body == .form || route.template == ConsoleLink.callback }

    var caller: Caller {
        var caller = Caller(network: located.network)
        guard located.isHeavy || principal.isPublishableKey,
            let name = located.match["installationId"] ?? fields[.installationID],
            // Longer ids are rejected and not stored.
            name.utf8.count <= InstallationID.maximumBytes
        else { return caller }
        caller.installation = Array(name.utf8)
        return caller
    }
}

/// Collects faults in the path, query and header fields.
///
/// A pointer names the parameter (`/activityId`). The detail names its location, because pointers refer to the body.
struct ParameterReader {
    let call: Call
    private(set) var faults: [JSONFault] = []

    mutating func path<Value>(_ name: String, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        read(name, from: "path", call.located.match[name].map { [$0] } ?? [], make)
    }

    mutating func query<Value>(_ name: String, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        read(name, from: "query", call.query[name], make)
    }

    /// Reads the text like a JSON string.
    mutating func query<Value>(_ name: String, as read: (JSONValue) throws(JSONFaultReason) -> Value) -> Value? {
        query(name) { text throws(JSONFaultReason) in try read(.string(text)) }
    }

    mutating func query(_ name: String, within range: ClosedRange<Int>) -> Int? {
        query(name) { text throws(JSONFaultReason) in
            try Int.within(range)(Int64(text).map(JSONValue.integer) ?? .string(text))
        }
    }

    mutating func time(_ name: String) -> Date? { query(name, as: Date.read) }
    mutating func limit() -> Int { query("limit", within: ResolveBody.limits) ?? ResolveBody.defaultLimit }

    mutating func requiredQuery<Value>(_ name: String, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        if call.query[name].isEmpty { record(name, "query", "is required") }
        return query(name, make)
    }

    mutating func field<Value>(_ name: HTTPField.Name, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        let values = call.fields[values: name]
        // NIO replaces invalid UTF-8, so different values would become equal.
        guard values.first?.unicodeScalars.contains("\u{FFFD}") != true else {
            record(name.rawName, "header", "must be UTF-8")
            return nil
        }
        return read(name.rawName, from: "header", values, make)
    }

    mutating func add(_ others: [JSONFault]) { faults += others }

    /// Reads the body, and adds its faults after those that `read` adds.
    mutating func body<Value>(_ read: (inout JSONReader, inout ParameterReader) -> Value) -> Value {
        let (value, bodyFaults) = call.readBody { json in (read(&json, &self), json.faults) }
        add(bodyFaults)
        return value
    }

    /// A faster overload for one value.
    func checked<Value>(_ value: Value?) throws(Problem) -> Value {
        guard faults.isEmpty else { throw Problem(faults: faults) }
        return try unwrapped(value)
    }

    func checked<each Value>(_ values: repeat (each Value)?) throws(Problem) -> (repeat each Value) {
        guard faults.isEmpty else { throw Problem(faults: faults) }
        return (repeat try unwrapped(each values))
    }

    private func unwrapped<Value>(_ value: Value?) throws(Problem) -> Value {
        guard let value else { throw Problem(faults: faults) }
        return value
    }

    private mutating func read<Value>(
        _ name: String,
        from place: String,
        _ values: [String],
        _ make: (String) throws(JSONFaultReason) -> Value
    ) -> Value? {
        guard values.count < 2 else {
            record(name, place, "must be given only once")
            return nil
        }
        guard let text = values.first else { return nil }
        do throws(JSONFaultReason) {
            return try make(text)
        } catch {
            record(name, place, error.detail)
            return nil
        }
    }

    private mutating func record(_ name: String, _ place: String, _ detail: String) {
        faults.append(JSONFault(pointer: "/\(name)", detail: "(in the \(place)) \(detail)"))
    }
}

extension ListPosition {
    private static let version: UInt8 = 1

    /// The cursor of the next page, opaque to callers.
    ///
    /// Base64url of a version byte, eight bytes of a hash over the scope and the names of the list, the position, and a
    /// checksum. Detects altered cursors and cursors of other lists. Not secret.
    ///
    /// - Parameter list: Identifies the list, including its filters.
    func cursor(of list: [String], in scope: Scope) -> String {
        let names = [scope.app.bundleID.rawValue, scope.environment.rawValue] + list
        var bytes = [Self.version] + SHA256.hash(data: Data(names.joined(separator: "\0").utf8)).prefix(8)
        bytes += [UInt8(part)] + withUnsafeBytes(of: number.bigEndian) { Array($0) } + rest
        bytes += SHA256.hash(data: bytes).prefix(8)
        return Base64URL.encode(bytes)
    }

    /// - Parameter title: Names the list in the fault.
    init(cursor: String, of list: [String], in scope: Scope, _ title: String) throws(JSONFaultReason) {
        let position = (Base64URL.decode(cursor) ?? Data()).dropFirst(9).dropLast(8)
        self.init(
            part: position.first.map(Int.init) ?? 0,
            number: position.dropFirst().prefix(8).reduce(0) { $0 << 8 | Int64($1) },
            rest: Array(position.dropFirst(9))
        )
        // Encoding again checks the version, the list, the checksum and canonical base64.
        guard number >= 0, self.cursor(of: list, in: scope) == cursor else {
            throw JSONFaultReason("is not a cursor of \(title)")
        }
    }
}

extension Alias { func list(_ name: String) -> [String] { [name, kind.string, value.string] } }
