import HTTPServer
import StrictJSON
import Testing

@testable import CountersignAPI

/// The check that all tests of routes rely on finds what it is for.
@Suite("Check of answers by their description") struct DescribedInterfaceTests {
    private let interface: DescribedInterface

    init() throws { interface = try #require(DescribedInterface.ours) }

    private let asked = Array(request("POST", "/v1/sync", token: nil, body: #"{"install_id":"0123456789abcdef"}"#).utf8)
    private let sound = #"{"bundle":"a.b.c","server_time":"2026-11-30T08:00:00Z"}"#

    private func faults(_ status: HTTPStatus, _ body: String, type: String = "application/json") -> [String] {
        let response = HTTPResponse(status, contentType: type, body: Array(body.utf8))
        return interface.faults(of: Received(response, wrote: false), to: asked)
    }

    @Test("a sound answer has no fault")
    func soundAnswer() { #expect(faults(.ok, sound) == []) }

    @Test(
        "a member too many, too few, of another type or form is found",
        arguments: [
            #"{"bundle":"a.b.c","server_time":"2026-11-30T08:00:00Z","more":1}"#, #"{"bundle":"a.b.c"}"#,
            #"{"bundle":1,"server_time":"2026-11-30T08:00:00Z"}"#,
            #"{"bundle":"a.b","server_time":"2026-11-30T08:00:00Z"}"#,
            #"{"bundle":null,"server_time":"2026-11-30T08:00:00Z"}"#, #"{"bundle":"a.b.c","server_time":"today"}"#,
            "[]",
        ]
    )
    func unsound(body: String) { #expect(faults(.ok, body) != []) }

    @Test("another status, type, code or missing field is found")
    func problems() {
        func problem(_ code: String, _ status: Int) -> String {
            """
            {"type":"urn:countersign:problem:\(code)","title":"t","status":\(status),"detail":"d","code":"\(code)",\
            "verdict":"unknown","request_id":"r"}
            """
        }
        let type = "application/problem+json"

        #expect(faults(.badRequest, problem("VALIDATION", 400), type: type) == [])
        #expect(faults(.badRequest, problem("VALIDATION", 400)) != [])
        #expect(faults(.badRequest, problem("STORE_UNVERIFIED", 400), type: type) != [])
        #expect(faults(.badRequest, problem("VALIDATION", 401), type: type) != [])
        #expect(faults(.noContent, "") != [])
        #expect(faults(.unauthorized, problem("UNAUTHENTICATED", 401), type: type) != [], "WWW-Authenticate is due")
    }

    @Test("a request that was taken and should not have been is found")
    func requests() {
        let response = HTTPResponse(.ok, contentType: "application/json", body: Array(sound.utf8))
        let asked = Array(request("POST", "/v1/sync", token: nil, body: #"{"install_id":7}"#).utf8)

        #expect(interface.faults(of: Received(response, wrote: false), to: asked) != [])
    }
}
