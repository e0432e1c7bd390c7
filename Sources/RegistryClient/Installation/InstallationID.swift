import Foundation

/// The random name of this install on this device: 128 bits in lower-case hex (C17).
///
/// It is a secret of the device, so it prints as nothing.
package struct InstallationID: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package let text: String

    package init(_ text: String) { self.text = text }

    /// - Parameter random: gives 64 random bits each time.
    init(random: () -> UInt64) {
        text = String(format: "%016llx%016llx", random(), random())
    }

    package var description: String { "(installation id)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
