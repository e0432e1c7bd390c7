import APNsStandIn
import Foundation
import Testing

@Suite struct ModelTests {
    static let topic = "com.example.food.push-type.liveactivity"
    static let now = Date(timeIntervalSince1970: 1_800_000_000)
    let key = ProviderKey()
    let jwt: String
    var model: APNsModel

    init() throws {
        jwt = try key.token(issuedAt: Self.now)
        model = APNsModel(key: key)
        model.add("aa", .activity(phone: "p", id: "a"), topic: Self.topic)
        model.add("bb", .start(phone: "p"), topic: Self.topic)
        model.show(ShownActivity(id: "a", phone: "p", alias: "order-1", timestamp: 100))
    }

    /// A valid request, except for the arguments.
    func request(
        _ token: String = "aa",
        _ aps: String = #"{"timestamp":200,"event":"update","content-state":{"b":1,"a":2}}"#,
        issuedAt: Date? = nil,
        _ changes: [String: String?] = [:]
    ) throws -> PushRequest {
        let jwt = try issuedAt.map { try key.token(issuedAt: $0) } ?? jwt
        var fields: [String: String] = [
            "authorization": "bearer \(jwt)", "apns-topic": Self.topic, "apns-push-type": "liveactivity",
        ]
        for (name, value) in changes { fields[name] = value }
        return PushRequest(path: "/3/device/\(token)", fields: fields, body: Data("{\"aps\":\(aps)}".utf8))
    }

    mutating func send(_ request: PushRequest, after seconds: Double = 0) -> PushResponse {
        model.receive(request, at: Self.now.addingTimeInterval(seconds)).answer
    }

    @Test mutating func `Pushes are shown in order, and an older or repeated one is dropped`() throws {
        #expect(send(try request()) == PushResponse(200))
        #expect(model.phones["p"]?.activities["a"]?.content == #"{"a":2,"b":1}"#)
        #expect(send(try request("aa", #"{"timestamp":200,"event":"update","content-state":{"a":3}}"#)).status == 200)
        #expect(model.phones["p"]?.activities["a"]?.content == #"{"a":2,"b":1}"#)
        #expect(model.phones["p"]?.late == 1)
    }

    @Test(
        arguments: [
            ("authorization", nil, 403, "MissingProviderToken"),
            ("authorization", "bearer x", 403, "InvalidProviderToken"),
            ("apns-topic", nil, 400, "MissingTopic"), ("apns-push-type", nil, 400, "InvalidPushType"),
            ("apns-priority", "7", 400, "BadPriority"), ("apns-id", "x", 400, "BadMessageId"),
            ("apns-topic", "com.example.ride.push-type.liveactivity", 400, "DeviceTokenNotForTopic"),
            ("apns-expiration", "soon", 400, "BadExpirationDate"),
        ] as [(String, String?, Int, String)]
    )
    mutating func `A missing or wrong field is refused with Apple's reason`(
        _ name: String,
        _ value: String?,
        _ status: Int,
        _ reason: String
    ) throws { #expect(send(try request("aa", "{}", [name: value])) == PushResponse(status, reason)) }

    @Test mutating func `An unknown token gets 400, and a dead token 410`() throws {
        #expect(send(try request("cc")) == PushResponse(400, "BadDeviceToken"))
        model.kill("aa", at: Self.now)
        let answer = send(try request())
        #expect(answer == PushResponse(410, "Unregistered", deadAt: Self.now))
        #expect(answer.timestamp == 1_800_000_000_000)
    }

    @Test mutating func `A payload above 4096 bytes is too large`() throws {
        #expect(
            send(try request("aa", "\"\(String(repeating: "x", count: 4200))\""))
                == PushResponse(413, "PayloadTooLarge")
        )
    }

    @Test mutating func `A second JWT within 20 minutes is refused, and one older than an hour has expired`() throws {
        #expect(send(try request()).status == 200)
        let second = try request(issuedAt: Self.now.addingTimeInterval(60))
        #expect(send(second, after: 60) == PushResponse(429, "TooManyProviderTokenUpdates"))
        #expect(send(try request(), after: 61).status == 200)
        #expect(send(try request(issuedAt: Self.now.addingTimeInterval(1300)), after: 1300).status == 200)
        #expect(send(try request(), after: 3700) == PushResponse(403, "ExpiredProviderToken"))
        #expect(model.providerTokens.seen.map(\.isAccepted) == [true, false, true])
        let forged = "bearer \(try ProviderKey().token(issuedAt: Self.now))"
        #expect(send(try request("aa", "{}", ["authorization": forged])) == PushResponse(403, "InvalidProviderToken"))
    }

    @Test mutating func `Each token has a refilling budget for priority 10, and none for priority 5`() throws {
        let urgent = try request()
        for _ in 0..<20 { #expect(send(urgent).status == 200) }
        #expect(send(urgent) == PushResponse(429, "TooManyRequests"))
        #expect(send(try request("aa", "{}", ["apns-priority": "5"])).status == 200)
        #expect(send(urgent, after: 61).status == 200)
    }

    @Test mutating func `The newest push of each token is kept for an offline phone until it expires`() throws {
        model.disconnect("p")
        let soon = String(Int(Self.now.timeIntervalSince1970) + 30)
        _ = send(try request("aa", #"{"timestamp":300,"event":"update","content-state":{"n":1}}"#))
        _ = send(try request("aa", #"{"timestamp":301,"event":"update","content-state":{"n":2}}"#))
        let start = #"{"timestamp":1,"event":"start","attributes-type":"T","attributes":{"alias":"order-2"}}"#
        _ = send(try request("bb", start, ["apns-expiration": soon]))
        #expect(model.connect("p", at: Self.now.addingTimeInterval(60)).isEmpty)
        #expect(model.phones["p"]?.activities["a"]?.content == #"{"n":2}"#)
        #expect(model.phones["p"]?.running("order-2").isEmpty == true)
    }

    @Test mutating func `A start push begins an activity, and a repeated push does not begin a second one`() throws {
        let start = #"{"timestamp":1,"event":"start","attributes-type":"T","attributes":{"alias":"order-2"}}"#
        let push = try request("bb", start, ["apns-id": UUID().uuidString])
        #expect(model.receive(push, at: Self.now).started?.alias == "order-2")
        #expect(model.receive(push, at: Self.now).started == nil)
        #expect(model.receive(try request("bb", start), at: Self.now).started != nil)
        #expect(model.phones["p"]?.running("order-2").count == 2)
    }

    @Test mutating func `A push after an end is not shown`() throws {
        _ = send(try request("aa", #"{"timestamp":200,"event":"end","content-state":{"n":9}}"#))
        _ = send(try request("aa", #"{"timestamp":300,"event":"update","content-state":{"n":10}}"#))
        #expect(model.phones["p"]?.activities["a"]?.content == #"{"n":9}"#)
        #expect(model.phones["p"]?.running("order-1").isEmpty == true)
    }
}
