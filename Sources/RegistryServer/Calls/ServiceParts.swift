import RegistryStore

struct ServiceParts: Sendable {
    let registry: Registry
    let access: AccessState
    let feedback: FeedbackRecorder
    let metrics: ServiceMetrics
    let shutdownNotice: ShutdownNotice
    let changeFeed: ChangeFeed
}
