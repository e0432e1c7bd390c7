import ArgumentParser

/// The format of a file to import.
enum ImportFormat: String, Sendable, ExpressibleByArgument {
    /// The lines of `pushreg export`, or lines made by hand.
    case ndjson
    /// OneSignal's export of subscriptions.
    case oneSignalCSV = "onesignal-csv"
}

/// Why a row of another system's export is left out.
enum LeftOut: String, Sendable, CaseIterable {
    case otherDevice = "other-device"
    case invalid
    case withoutToken = "no-token"
    case withoutUser = "no-user"

    /// The words that follow their number.
    var words: String {
        switch self {
        case .otherDevice: "of other devices than iOS's"
        case .invalid: "invalid"
        case .withoutToken: "without a token"
        case .withoutUser: "without a user, whom nobody could find"
        }
    }
}
