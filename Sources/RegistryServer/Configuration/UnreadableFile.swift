import Foundation

/// A file of the settings that cannot be read.
package struct UnreadableFile {
    /// The system's error code.
    package let code: Int32
    /// The system's reason, such as "Permission denied".
    package var reason: String { String(cString: strerror(code)) }

    /// Nil if the file can be read.
    package init?(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        var byte: UInt8 = 0
        // A directory can be opened.
        guard descriptor < 0 || read(descriptor, &byte, 1) < 0 else { return nil }
        code = errno
    }
}
