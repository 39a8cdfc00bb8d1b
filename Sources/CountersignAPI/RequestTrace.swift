import CountersignWire
import Diagnostics
import HTTPServer
import Licensing

/// What a handler found out about a request, for its line in the log: names of rows, never what was sent.
struct RequestTrace: Sendable {
    var credential: CredentialID?
    var license: License.ID?
    var install: Install.ID?
    /// Where an unknown license key is counted; not for the log.
    var wrongKeys: RateKey?
    /// Why it was refused.
    var code: ProblemCode?

    /// Writes the line of an answered request, if there is to be one.
    func write(_ summary: RequestSummary, to log: Log, which: RequestLogging) {
        switch which {
        case .off: return
        case .failures where summary.status.code < 400: return
        case .all, .failures: break
        }
        guard log.isWriting(.info), !Routes.isHealthCheck(summary.request.route) else { return }
        let route = LogValue.string(summary.request.route ?? "none")
        let status = LogValue.integer(summary.status.code)
        let microseconds = LogValue.integer(summary.microseconds)
        guard let credential else {
            log.info(
                "request",
                [
                    "request_id": .string(summary.request.requestID),
                    "method": .string(summary.request.method.rawValue),
                    "route": route, "status": status, "microseconds": microseconds,
                    "code": .string(code?.rawValue ?? ""),
                ]
            )
            return
        }
        log.info(
            "request",
            [
                "request_id": .string(summary.request.requestID), "method": .string(summary.request.method.rawValue),
                "route": route, "status": status, "microseconds": microseconds, "code": .string(code?.rawValue ?? ""),
                "credential": .masked(credential.text), "license": masked(license?.text),
                "install": masked(install?.text),
            ]
        )
    }

    private func masked(_ identifier: String?) -> LogValue { identifier.map(LogValue.masked) ?? "" }
}
