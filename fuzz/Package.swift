// swift-tools-version: 6.2
import PackageDescription

// Fuzzers for everything that reads bytes from outside. A package of its own, since their main program is libFuzzer's.
//   scripts/fuzz SECONDS [NAME]...
let fuzzers: [(name: String, products: [String])] = [
    ("FuzzJSON", ["StrictJSON"]),
    ("FuzzHTTP", ["HTTPServer"]),
    ("FuzzHeaders", ["HTTPServer", "CountersignAPI"]),
    ("FuzzLicenseKey", ["Licensing"]),
    ("FuzzValues", ["Licensing", "LicensingServices"]),
    ("FuzzBundle", ["Bundles", "Licensing", "Cryptography", "StrictJSON"]),
    ("FuzzChain", ["Cryptography"]),
    ("FuzzStore", ["AppStore", "Licensing", "Cryptography"]),
    ("FuzzSeed", ["Administration", "CountersignWire", "LicensingServices", "Licensing", "Storage", "StrictJSON"]),
    ("FuzzCSV", ["LicensingServices", "Licensing", "Storage"]),
    ("FuzzConfiguration", ["Administration", "HTTPServer", "Diagnostics", "StrictJSON"]),
]

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "countersign", path: "..")],
    targets: [
        .target(name: "FuzzSupport", dependencies: [.product(name: "Cryptography", package: "countersign")])
    ]
        + fuzzers.map { fuzzer in
            .executableTarget(
                name: fuzzer.name,
                dependencies: ["FuzzSupport"]
                    + fuzzer.products.map { .product(name: $0, package: "countersign") },
                swiftSettings: [.unsafeFlags(["-parse-as-library"])]
            )
        },
    swiftLanguageModes: [.v6]
)
