import Foundation
import ServiceLifecycle

/// Returns memory to the system after a burst of requests, while the service runs.
///
/// glibc keeps freed memory for the thread that had it (malloc_trim(3)): after a flood of large bodies some hundreds of
/// MiB would stay resident, and count against a container's limit.
struct MemoryReturn: Service {
    private static let interval = Duration.seconds(10)
    /// The growth over the smallest resident size, in bytes, that justifies a trim. Free and used memory cannot be told
    /// apart before; a walk through a heap of some hundred MiB takes milliseconds.
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

    /// Does nothing if the C library has no such function.
    static func trim() {
        typealias MallocTrim = @convention(c) (_ padding: Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: MallocTrim.self)(0)
    }

    /// 0 if /proc is not available (proc_pid_statm(5)).
    static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return fields.flatMap { Int($0[1]) }.map { $0 * sysconf(Int32(_SC_PAGESIZE)) } ?? 0
    }
}
