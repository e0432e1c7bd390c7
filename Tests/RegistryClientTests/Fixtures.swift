import Foundation

@testable import RegistryClient

extension Timestamp {
    /// So many seconds after a time at which all tests begin.
    static func at(_ seconds: Double) -> Timestamp {
        Timestamp(milliseconds: 1_790_000_000_000 + Int64(seconds * 1000))
    }
}

extension DeviceTime {
    /// A device whose clock is right, unless it is ahead by some seconds.
    static func at(_ seconds: Double, ahead: Double = 0, boot: String = "boot-1") -> DeviceTime {
        DeviceTime(wall: .at(seconds + ahead), uptime: .seconds(1000 + seconds), boot: boot)
    }
}

extension Token {
    init(hex: String) {
        self.init(
            stride(from: 0, to: hex.count, by: 2).map { start in
                let digits = Array(hex)[start..<start + 2]
                return UInt8(String(digits), radix: 16) ?? 0
            }
        )
    }
}

extension Report {
    static func token(_ hex: String, of activityID: String = "a-1") -> Report {
        .registration(ActivityRegistration(activityID: UTF8Text(activityID), token: Token(hex: hex)))
    }

    static func end(_ activityID: String = "a-1", isDismissal: Bool = false) -> Report {
        .end(activityID: UTF8Text(activityID), isDismissal: isDismissal)
    }

    static func start(_ hex: String?, of attributesType: String = "Delivery") -> Report {
        .startToken(attributesType: UTF8Text(attributesType), hex.map(Token.init(hex:)))
    }

    /// The token of a registration in hex.
    var token: String? {
        guard case .registration(let registration) = self else { return nil }
        return registration.token?.hexadecimal
    }

    var registration: ActivityRegistration? {
        guard case .registration(let registration) = self else { return nil }
        return registration
    }
}

extension Owner {
    static func user(_ name: String) -> Owner { .user(UTF8Text(name)) }
}

extension TransportAnswer {
    /// An answer of the registry.
    static func ours(_ status: Int, _ body: String = "", fields: [String: String] = [:]) -> TransportAnswer {
        let ours = ["Request-Id": "r-1", "Content-Type": "application/json"].merging(fields) { $1 }
        return TransportAnswer(status: status, fields: ours, body: Data(body.utf8))
    }

    static let registered = ours(200, #"{"activityId": "a-1", "outcome": "registered", "state": "active"}"#)

    static func problem(_ status: Int, _ code: String, serverTime: Timestamp? = nil) -> TransportAnswer {
        let time = serverTime.map { #", "serverTime": "\#($0.text)""# } ?? ""
        return ours(status, #"{"status": \#(status), "code": "\#(code)", "detail": "Because."\#(time)}"#)
    }
}

extension Verdict {
    static func problem(_ status: Int, _ code: String) -> Verdict {
        .refused(status: status, Problem(code: code, detail: "Because."))
    }
}
