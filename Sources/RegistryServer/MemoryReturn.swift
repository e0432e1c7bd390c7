import Foundation
import ServiceLifecycle

/// Returns freed memory to the system while the service runs.
///
/// glibc keeps freed memory for the thread that used it (malloc_trim(3)). After many large bodies, hundreds of MiB
/// would stay resident and count against a container's limit.
struct MemoryReturn: Service {
    private static let interval = Duration.seconds(10)
    /// In bytes above the smallest resident size, because a trim of a large heap takes milliseconds.
    private static let growth = 32 << 20

    func run() async {
        await cancelWhenGracefulShutdown {
            var least = Self.residentBytes
            while (try? await Task.sleep(for: Self.interval)) != nil {
                if Self.residentBytes > least + Self.growth { Self.trim() }
                least = min(least, Self.residentBytes)
            }
        }
    }

    /// Does nothing if the C library has no `malloc_trim`.
    static func trim() {
        typealias MallocTrim = @convention(c) (_ padding: Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: MallocTrim.self)(0)
    }

    /// 0 without /proc (proc_pid_statm(5)).
    static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return fields.flatMap { Int($0[1]) }.map { $0 * sysconf(Int32(_SC_PAGESIZE)) } ?? 0
    }
}
