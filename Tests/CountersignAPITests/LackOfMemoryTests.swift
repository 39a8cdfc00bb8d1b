import AppStore
import CFailingMemory
import CountersignWire
import Cryptography
import Diagnostics
import HTTPServer
import LicensingServices
import StoreTestSupport
import Testing

@testable import CountersignAPI

@Suite("Answers for which there is no memory") struct LackOfMemoryTests {
    @Test("what cannot be checked is 503 and unknown, not a refusal, and taken when it comes again")
    func unavailable() async {
        await #expect(processExitsWith: .success) {
            try #require(failing_memory_install() == 1)
            try #require(OpenSSLMemory.watch())
            var api = try TestAPI.open()
            let connection = try api.connect()
            let purchase = try api.store.sign(unlock())
            failing_memory_fail(1, 0)
            let refused = api.verify(jws: purchase)
            failing_memory_fail(0, 0)
            let taken = api.verify(jws: purchase)

            #expect(refused.status == 503)
            #expect(refused.code == "UNAVAILABLE")
            #expect(refused.verdict == "unknown")
            #expect(refused.field("Retry-After").flatMap { Int($0) } != nil)
            #expect(taken.status == 200)
            #expect(taken.verdict == "granted")

            let message = try api.notification("TEST", uuid: "u1")
            api.chains = ChainCache()
            failing_memory_fail(1, 0)
            let early = api.notify(connection.notificationPath, jws: message)
            failing_memory_fail(0, 0)
            #expect(early.status == 503)
            #expect(api.notify(connection.notificationPath, jws: message).status == 200)
        }
    }

    @Test("trouble of OpenSSL is unavailable wherever it is met; a key that is not ours is a fault")
    func mapping() {
        let trouble = Problem(CryptographyError.library(operation: "draw random bytes", reason: "none"))
        let fault = Problem(CryptographyError.authenticationFailed)

        #expect(trouble.body.status == 503)
        #expect(trouble.response().fields.contains { $0.name == "Retry-After" })
        #expect(trouble.report?.level == .error)
        #expect(trouble.report?.reason.contains("draw random bytes") == true)
        #expect(fault.body.status == 500)
    }
}
