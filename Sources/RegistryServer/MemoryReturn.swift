import Foundation
import ServiceLifecycle

/// Gives memory that a burst of requests needed back to the system, for as long as the service runs.
///
/// glibc keeps what was freed for the thread that had it (malloc_trim(3)): after a flood of large bodies some hundreds of
/// MiB would stay resident, and count against a container's limit.
struct MemoryReturn: Service {
    /// The time between two looks.
    private static let interval = Duration.seconds(10)

    func run() async {
        await cancelWhenGracefulShutdown {
            var decision = TrimDecision(residentBytes: Self.residentBytes)
            while (try? await Task.sleep(for: Self.interval)) != nil {
                guard decision.shouldTrim(at: Self.residentBytes) else { continue }
                Self.trim()
                decision.noteTrim(leaving: Self.residentBytes)
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

/// Decides when a walk through the heap is worth its while, from the sizes that the process is found to have.
struct TrimDecision: Sendable, Hashable {
    /// The growth in bytes that makes a trim worth its while.
    static let growth = 32 << 20

    /// The least that was resident at the start, or after the last trim, or since, in bytes.
    private(set) var leastBytes: Int

    init(residentBytes: Int) { leastBytes = residentBytes }

    /// Whether there is so much more than before that some of it may be free.
    mutating func shouldTrim(at residentBytes: Int) -> Bool {
        guard residentBytes <= leastBytes + Self.growth else { return true }
        leastBytes = min(leastBytes, residentBytes)
        return false
    }

    /// Takes what a trim left for what the process needs, so that a need above the first one does not trim for ever.
    mutating func noteTrim(leaving residentBytes: Int) { leastBytes = residentBytes }
}
