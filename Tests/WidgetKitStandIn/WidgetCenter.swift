// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation

/// The part of WidgetKit that the client uses, for tests on Linux.
public final class WidgetCenter: Sendable {
    public static let shared = WidgetCenter()

    public var currentPushInfo: WidgetPushInfo? { get async { nil } }
}

public struct WidgetPushInfo: Sendable { public let token: Data }
