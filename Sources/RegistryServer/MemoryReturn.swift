import Foundation
import ServiceLifecycle

/// Gives memory that a burst of requests needed back to the system, for as long as the service runs.
///
/// glibc keeps what was freed for the thread that had it (malloc_trim(3)): after a flood of large bodies some hundreds of
/// MiB would stay resident, and count against a container's limit.
struct MemoryReturn: Service {
    /// The time between two looks.
    private static let interval = Duration.seconds(10)
    /// The growth beyond the least that was ever resident, in bytes, that makes a trim worth its while. Whether the memory is in
    /// use or free nobody knows beforehand; a walk through a heap of some hundred MiB takes milliseconds.
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

    /// Gives free memory back; does nothing where the C library has no such function.
    static func trim() {
        typealias MallocTrim = @convention(c) (_ padding: Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: MallocTrim.self)(0)
    }

    /// The memory of the process that is in RAM; 0 where /proc does not tell it (proc_pid_statm(5)).
    static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return fields.flatMap { Int($0[1]) }.map { $0 * sysconf(Int32(_SC_PAGESIZE)) } ?? 0
    }
}
