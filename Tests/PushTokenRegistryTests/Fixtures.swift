@testable import PushTokenRegistry

extension PushToken {
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
        .registration(ActivityRegistration(activityID: activityID, token: PushToken(hex: hex)))
    }

    static func end(_ activityID: String = "a-1", isDismissal: Bool = false) -> Report {
        .end(activityID: activityID, isDismissal: isDismissal)
    }

    static func start(_ hex: String?, of attributesType: String = "Delivery") -> Report {
        .startToken(attributesType: attributesType, hex.map(PushToken.init(hex:)))
    }

    var token: String? {
        guard case .registration(let registration) = self else { return nil }
        return registration.token?.hexadecimal
    }

    var registration: ActivityRegistration? {
        guard case .registration(let registration) = self else { return nil }
        return registration
    }
}

extension ResponseClass {
    static func problem(_ status: Int, _ code: String) -> ResponseClass {
        .refused(status: status, Problem(code: .init(rawValue: code), detail: "Because."))
    }
}
