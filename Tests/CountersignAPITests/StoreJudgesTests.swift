import AppStore
import Cryptography
import Foundation
import Licensing
import LicensingServices
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI

/// Vectors made elsewhere, sent to the route: run where the environment variable `JUDGES_DIR` names the folder that holds
/// `oracles`.
@Suite("Vectors of an independent generator, over the routes") struct StoreJudgesTests {
    static let folder = ProcessInfo.processInfo.environment["JUDGES_DIR"]

    @Test(
        "every vector is answered with the status and the verdict it deserves",
        .enabled(if: folder != nil, "NOT RUN: JUDGES_DIR is not set")
    )
    func vectors() throws {
        let url = URL(fileURLWithPath: try #require(Self.folder))
            .appendingPathComponent("oracles/storekit/vectors/manifest.json")
        let manifest = try JSONDocument(parsing: Array(Data(contentsOf: url)))
        var count = 0
        for vector in try #require(manifest.root["vectors"]?.elements) {
            let id = try #require(vector["id"]?.string)
            let config = try #require(vector["config"])
            var api = try TestAPI.open()
            let now = Timestamp(secondsSinceEpoch: try #require(config["now"]?.int64) / 1000)
            api.catalog.clock.set(now)
            let root = try #require(config["rootDer"]?.string.flatMap { Base64.decode($0) })
            let environment = try #require(StoreEnvironment(rawValue: config["environment"]?.string ?? ""))
            let connection = try api.connect(environment, bundleID: try #require(config["bundleId"]?.string)) {
                $0.appAppleID = config["appAppleId"]?.int64.map { .set($0) }
                $0.rootDigests = [try #require(Digest256(bytes: SHA256.digest(of: root)))]
                $0.allowsXcode = config["allowUnsignedXcode"]?.bool
                $0.renewalLeeway = .zero
                let pro = try FeatureCode("pro")
                $0.mappings = ["pro_unlock", "pro_monthly", "max_monthly", "season_pass", "tokens_100"]
                    .map { .init(id: $0, features: [pro]) }
            }
            let accepted = vector["expected"]?["accept"]?.bool == true
            let action = vector["expected"]?["effect"]?["action"]?.string
            let jws = Array(try #require(vector["jws"]?.string).utf8)
            if vector["kind"]?.string == "notification" {
                let answer = api.notify(connection.notificationPath, jws: jws)
                let isClock = vector["expected"]?["reason"]?.string == "SIGNED_IN_FUTURE"
                #expect(answer.status == (accepted ? 200 : isClock ? 503 : 400), "\(id): \(answer.text)")
            } else {
                let token = environment == .production ? api.catalog.appToken : api.catalog.testToken
                let answer = api.verify(jws: jws, token: token)
                let (status, verdict) =
                    switch accepted ? action : nil {
                    case "grant": (200, "granted")
                    case "revoke", "expire": (402, "rejected")
                    case nil: (400, "unknown")
                    default: (200, "unknown")
                    }
                #expect(answer.status == status, "\(id): \(answer.text.prefix(300))")
                #expect(answer.verdict == verdict, "\(id)")
            }
            count += 1
        }
        print("JUDGES: \(count) vectors sent")
    }
}
