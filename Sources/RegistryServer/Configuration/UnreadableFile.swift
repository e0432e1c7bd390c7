import Foundation

package struct UnreadableFile {
    package let code: Int32
    /// Such as "Permission denied".
    package var reason: String { String(cString: strerror(code)) }

    /// Nil if the file is readable.
    package init?(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        var byte: UInt8 = 0
        // Opening a directory succeeds, so this also reads.
        guard descriptor < 0 || read(descriptor, &byte, 1) < 0 else { return nil }
        code = errno
    }
}
