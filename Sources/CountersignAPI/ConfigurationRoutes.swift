import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// The signed settings of a product.
enum ConfigurationRoutes {
    /// `GET /v1/config`: those of the credential's product, with its offers.
    static func ofCaller(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let token = try PresentedToken.ofApp(request)
        try token.required()
        let (clock, configurations) = (context.services.clock, context.services.configurations)
        let (now, credential, facts) = try context.reader.snapshot { db in
            let now = try clock.now(in: db)
            let principal = try token.principal(.publishable, at: now, in: db)
            guard let caller = principal.caller else {
                throw Problem(.forbidden, "This credential is not for this route.")
            }
            return (now, principal.credential.id, try configurations.claims(for: caller, at: now, in: db))
        }
        context.trace.credential = credential
        let answer = Wire.ConfigurationAnswer(
            config: try context.configuration(facts.claims, signedBy: facts.signingKey),
            serverTime: now.rfc3339
        )
        return .reply(.json(.ok, answer.body()))
    }
}
