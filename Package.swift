// swift-tools-version: 6.2
import PackageDescription

// Targets in the order of their dependencies: one may depend only on those above it.
// Three questions keep it so: does `Licensing` still build alone? does `HTTPServer`?
// can a client library be linked without SQLite?
let package = Package(
    name: "countersign",
    products: [
        .executable(name: "countersign", targets: ["countersign"]),
        // What reads bytes from outside, for the fuzzers in `fuzz/`.
        .library(name: "Licensing", targets: ["Licensing"]),
        .library(name: "StrictJSON", targets: ["StrictJSON"]),
        .library(name: "Cryptography", targets: ["Cryptography"]),
        .library(name: "Bundles", targets: ["Bundles"]),
        .library(name: "AppStore", targets: ["AppStore"]),
        .library(name: "HTTPServer", targets: ["HTTPServer"]),
        .library(name: "Storage", targets: ["Storage"]),
        .library(name: "Diagnostics", targets: ["Diagnostics"]),
        .library(name: "LicensingServices", targets: ["LicensingServices"]),
        .library(name: "CountersignWire", targets: ["CountersignWire"]),
        .library(name: "CountersignAPI", targets: ["CountersignAPI"]),
        .library(name: "Administration", targets: ["Administration"]),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "COpenSSLMemory", dependencies: ["COpenSSL"]),
        .target(name: "CSystem"),
        .target(name: "SystemPrimitives", dependencies: ["CSystem"]),
        .target(name: "Licensing"),
        .target(name: "StrictJSON"),
        .target(name: "Cryptography", dependencies: ["COpenSSL", "COpenSSLMemory"]),
        .target(name: "Bundles", dependencies: ["Licensing", "StrictJSON", "Cryptography"]),
        .target(name: "AppStore", dependencies: ["Licensing", "StrictJSON", "Cryptography"]),
        .target(
            name: "Migrations",
            path: "migrations",
            resources: [
                .embedInCode("0001_create_state.sql"),
                .embedInCode("0002_create_catalog.sql"),
                .embedInCode("0003_create_licenses.sql"),
                .embedInCode("0004_create_credentials.sql"),
                .embedInCode("0005_create_trials.sql"),
                .embedInCode("0006_create_meters.sql"),
                .embedInCode("0007_create_store_purchases.sql"),
                .embedInCode("0008_create_gifts_and_tiers.sql"),
                .embedInCode("0009_create_quota.sql"),
                .embedInCode("0010_create_trial_fingerprints.sql"),
                .embedInCode("0011_create_seat_indexes.sql"),
                .embedInCode("0012_count_seats.sql"),
                .embedInCode("0013_create_notification_index.sql"),
                .embedInCode("0014_read_known_codes.sql"),
            ]
        ),
        .target(name: "Storage", dependencies: ["CSQLite", "CSystem", "SystemPrimitives", "Licensing", "Migrations"]),
        .target(name: "Diagnostics", dependencies: ["CSystem", "SystemPrimitives"]),
        .target(
            name: "LicensingServices",
            dependencies: [
                "Licensing", "StrictJSON", "Cryptography", "Bundles", "AppStore", "Storage", "Diagnostics",
                "SystemPrimitives",
            ]
        ),
        .target(name: "HTTPServer", dependencies: ["CSystem", "SystemPrimitives"]),
        .target(name: "CountersignWire", dependencies: ["StrictJSON"]),
        .target(
            name: "CountersignAPI",
            dependencies: [
                "Licensing", "StrictJSON", "Cryptography", "Bundles", "AppStore", "Storage", "Diagnostics",
                "LicensingServices", "HTTPServer", "CountersignWire", "SystemPrimitives",
            ]
        ),
        .target(
            name: "Administration",
            dependencies: [
                "Licensing", "StrictJSON", "Cryptography", "Bundles", "AppStore", "Storage", "Diagnostics",
                "LicensingServices", "CountersignWire", "CSystem", "SystemPrimitives",
            ]
        ),
        .executableTarget(
            name: "countersign",
            dependencies: [
                "Licensing", "StrictJSON", "Cryptography", "Bundles", "Storage", "Diagnostics", "LicensingServices",
                "HTTPServer", "CountersignWire", "CountersignAPI", "Administration", "CSystem",
                "SystemPrimitives",
            ]
        ),
        .testTarget(name: "LicensingTests", dependencies: ["Licensing"]),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"]),
        .target(name: "CFailingMemory", dependencies: ["COpenSSL"], path: "Tests/CFailingMemory"),
        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography", "COpenSSL", "CFailingMemory"]),
        .testTarget(name: "BundlesTests", dependencies: ["Bundles", "Licensing", "StrictJSON", "Cryptography"]),
        .target(
            name: "StoreTestSupport",
            dependencies: ["AppStore", "Licensing", "Cryptography", "COpenSSL"],
            path: "Tests/StoreTestSupport"
        ),
        .testTarget(
            name: "AppStoreTests",
            dependencies: ["AppStore", "Licensing", "StrictJSON", "Cryptography", "StoreTestSupport", "CFailingMemory"]
        ),
        .target(name: "CFaultyVFS", dependencies: ["CSQLite"], path: "Tests/CFaultyVFS"),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "Storage", "Migrations", "CSystem", "CSQLite", "SystemPrimitives", "CFaultyVFS", "SystemTestSupport",
            ]
        ),
        .testTarget(
            name: "LicensingServicesTests",
            dependencies: [
                "LicensingServices", "Licensing", "Storage", "Migrations", "Bundles", "Cryptography", "StrictJSON",
                "AppStore", "Diagnostics", "SystemPrimitives",
            ]
        ),
        .testTarget(name: "DiagnosticsTests", dependencies: ["Diagnostics", "StrictJSON", "SystemPrimitives"]),
        .testTarget(
            name: "ConfigurationTests",
            dependencies: ["countersign", "Administration", "Diagnostics", "HTTPServer", "StrictJSON"]
        ),
        .target(name: "SystemTestSupport", dependencies: ["SystemPrimitives"], path: "Tests/SystemTestSupport"),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["HTTPServer", "CSystem", "SystemPrimitives", "SystemTestSupport"]
        ),
        .testTarget(name: "CountersignWireTests", dependencies: ["CountersignWire", "StrictJSON"]),
        .testTarget(
            name: "CountersignAPITests",
            dependencies: [
                "CountersignAPI", "HTTPServer", "LicensingServices", "Licensing", "Storage", "Bundles", "StrictJSON",
                "Cryptography", "CountersignWire", "Diagnostics", "AppStore", "StoreTestSupport", "Administration",
                "CSQLite", "CFaultyVFS", "CFailingMemory", "SystemPrimitives", "SystemTestSupport",
            ]
        ),
        .testTarget(
            name: "AdministrationTests",
            dependencies: [
                "Administration", "LicensingServices", "Licensing", "Storage", "StrictJSON", "Bundles", "Cryptography",
                "SystemPrimitives", "SystemTestSupport",
            ]
        ),
        .testTarget(
            name: "ModelTests",
            dependencies: [
                "CountersignAPI", "HTTPServer", "LicensingServices", "Licensing", "Storage", "Bundles", "StrictJSON",
                "Cryptography", "CountersignWire", "AppStore", "StoreTestSupport",
            ]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["countersign", "StrictJSON", "Cryptography", "Bundles", "SystemTestSupport"]
        ),
    ],
    swiftLanguageModes: [.v6]
)

/// Targets that touch raw pointers: owners of C handles, byte parsers.
let touchesPointers: Set<String> = [
    "SystemPrimitives", "Cryptography", "Storage", "HTTPServer", "StrictJSON", "Diagnostics", "Administration",
    "countersign", "StoreTestSupport", "SystemTestSupport",
]

/// Targets of C.
let isC: Set<String> = ["COpenSSLMemory", "CSystem", "CFaultyVFS", "CFailingMemory"]

for target in package.targets where target.type != .system && !isC.contains(target.name) {
    var settings: [SwiftSetting] = [
        .swiftLanguageMode(.v6),
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    if ["HTTPServer", "Storage", "StrictJSON"].contains(target.name) {
        settings.append(.enableExperimentalFeature("Lifetimes"))
    }
    if target.type != .test && !touchesPointers.contains(target.name) && target.name != "Migrations" {
        settings.append(.strictMemorySafety())
    }
    target.swiftSettings = settings
}
