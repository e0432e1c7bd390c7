@_exported import RegistryClient

extension LiveActivityRegistry {
    /// Follows a type on a phone; the watch is made at the first one.
    package nonisolated func follow(_ type: FollowedType, on phone: @autoclosure () -> any Phone) {
        let watch = watch(on: phone)
        watch.follow(type)
        if attachment.withLock({ $0.isStarted }) { watch.start() }
    }

    private nonisolated func watch(on phone: () -> any Phone) -> ActivityWatch {
        let new = ActivityWatch(phone: phone(), clock: configuration.clock, outlet: Outlet(self))
        return attachment.withLock { attachment in
            if let watch = attachment.watch as? ActivityWatch { return watch }
            attachment.watch = new
            return new
        }
    }
}
