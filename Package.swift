// swift-tools-version:6.2
import PackageDescription

/// For own targets. Dependencies keep their own settings.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let serverTestDependencies: [Target.Dependency] = [
    "RegistryCore", "RegistryRules", "RegistryServer", "RegistryStore",
    "PostgresDriver", "EmbeddedPostgres", "TestSupport",
    "WebAssets",
    .product(name: "AsyncHTTPClient", package: "async-http-client"),
    .product(name: "Crypto", package: "swift-crypto"),
    .product(name: "CryptoExtras", package: "swift-crypto"),
    .product(name: "HTTPTypes", package: "swift-http-types"),
    .product(name: "Logging", package: "swift-log"),
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]

let package = Package(
    name: "push-token-registry",
    platforms: [.iOS("16.1"), .macOS(.v15)],
    products: [
        .executable(name: "pushreg", targets: ["pushreg"]),
        .library(name: "PushTokenRegistry", targets: ["PushTokenRegistry"]),
    ],
    traits: [
        .trait(name: "Server", description: "The service. Apps depend on this package with `traits: []`."),
        .default(enabledTraits: ["Server"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // 2.101.2 and later bound the size of request headers (CVE-2026-28980).
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.44.1"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "PushTokenRegistry",
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: strict
        ),
        .target(name: "RegistryCore", swiftSettings: strict),
        .target(name: "RegistryRules", dependencies: ["RegistryCore"], swiftSettings: strict),
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "PostgresDriver",
            dependencies: ["CLibpq", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict
        ),
        .target(
            name: "Queries",
            path: "sql",
            resources: [.embedInCode("migrations"), .embedInCode("queries")],
            swiftSettings: strict
        ),
        .target(
            name: "RegistryStore",
            dependencies: [
                "RegistryCore", "RegistryRules", "PostgresDriver", "Queries",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "EmbeddedPostgres",
            dependencies: [.product(name: "Logging", package: "swift-log")],
            swiftSettings: strict
        ),
        .target(name: "CWebAssets"),
        .target(
            name: "WebAssets",
            dependencies: ["CWebAssets"],
            exclude: ["openapi.json", "Shared", "Console", "Docs", "Documentation.docc"],
            swiftSettings: strict
        ),
        .target(
            name: "RegistryServer",
            dependencies: [
                "RegistryCore", "RegistryRules", "RegistryStore", "WebAssets",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "pushreg",
            dependencies: [
                "RegistryCore", "RegistryRules", "RegistryServer", "RegistryStore",
                "PostgresDriver", "EmbeddedPostgres",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        // An example of the guides. It is built so that it stays correct, and is not a product.
        .executableTarget(
            name: "SenderExample",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/WebAssets/Documentation.docc/Examples",
            exclude: ["onesignal-to-ndjson.py", "sender.go", "sender.mjs", "sender.py", "sns-to-ndjson.py"],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "RegistryCore", "RegistryStore", "PostgresDriver", "EmbeddedPostgres",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        .target(
            name: "PushTokenRegistryTestSupport",
            dependencies: ["PushTokenRegistry"],
            path: "Tests/PushTokenRegistryTestSupport",
            swiftSettings: strict
        ),
        .target(
            name: "APNsStandIn",
            dependencies: [
                "RegistryCore", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/APNsStandIn",
            swiftSettings: strict
        ),
        .testTarget(
            name: "APNsStandInTests",
            dependencies: [
                "APNsStandIn",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PushTokenRegistryTests",
            dependencies: ["PushTokenRegistry", "PushTokenRegistryTestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SenderExampleTests",
            dependencies: [
                "APNsStandIn", "PostgresDriver", "RegistryCore", "RegistryServer", "RegistryStore", "SenderExample",
                "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PhoneSimulatorTests",
            dependencies: [
                "PushTokenRegistry", "PushTokenRegistryTestSupport", "RegistryCore", "RegistryServer", "RegistryStore",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RegistryRulesTests",
            dependencies: ["RegistryCore", "RegistryRules"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RegistryCoreTests",
            dependencies: ["RegistryCore", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PostgresDriverTests",
            dependencies: [
                "EmbeddedPostgres", "PostgresDriver", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "EmbeddedPostgresTests",
            dependencies: ["EmbeddedPostgres", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RegistryStoreTests",
            dependencies: [
                "RegistryCore", "RegistryRules", "RegistryStore", "PostgresDriver", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RegistryServerTests",
            dependencies: serverTestDependencies + [
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OpenAPITests",
            dependencies: serverTestDependencies + ["PushTokenRegistry", "PushTokenRegistryTestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PushregTests",
            dependencies: serverTestDependencies + ["pushreg"],
            swiftSettings: strict
        ),
    ]
)

// Every dependency belongs to the service: without the trait an app resolves none of them.
for target in package.targets {
    target.dependencies = target.dependencies.map { dependency in
        guard case .productItem(let name, let package, let aliases, _) = dependency else { return dependency }
        return .productItem(
            name: name,
            package: package,
            moduleAliases: aliases,
            condition: .when(traits: ["Server"])
        )
    }
}
