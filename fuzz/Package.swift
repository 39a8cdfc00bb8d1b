// swift-tools-version: 6.2
import PackageDescription

// Fuzzers for everything that reads bytes from outside. A package of its own, since their main program is libFuzzer's.
//   scripts/fuzz SECONDS [NAME]...
let fuzzers: [(name: String, products: [String])] = [
    ("FuzzJSON", ["StrictJSON"]),
    ("FuzzHTTP", ["HTTPServer"]),
    ("FuzzLicenseKey", ["Licensing"]),
    ("FuzzBundle", ["Bundles", "Licensing", "Cryptography"]),
    ("FuzzStore", ["AppStore", "Licensing"]),
]

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "countersign", path: "..")],
    targets: fuzzers.map { fuzzer in
        .executableTarget(
            name: fuzzer.name,
            dependencies: fuzzer.products.map { .product(name: $0, package: "countersign") },
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    },
    swiftLanguageModes: [.v6]
)
