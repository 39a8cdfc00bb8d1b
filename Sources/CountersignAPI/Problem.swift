import CountersignWire
import Cryptography
import Diagnostics
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// What a client hears instead of a success: a body, the fields that go with it, and what the operator should read.
///
/// The one place where an error meets a status. A route throws either one of these, with all that belongs in its body, or
/// whatever went wrong, which `init(_:)` translates.
struct Problem: Error {
    /// The body; its `requestID` is set when it is answered.
    var body: Wire.Problem
    /// Beside those that every answer has.
    var fields: [HTTPField] = []
    /// A line for the operator; nil where only the client has something to mend.
    var report: Report?

    /// What the log says of a failure.
    struct Report: Hashable, Sendable {
        let level: LogLevel
        /// Never anything that was sent.
        let reason: String
    }

    /// A problem of this code in these words.
    init(_ code: ProblemCode, _ detail: String) {
        body = Wire.Problem(code, detail)
        if code == .unauthenticated { fields = [HTTPField("WWW-Authenticate", "Bearer")] }
    }

    /// Seconds after which to ask again, where nobody knows better.
    private static let usualPause = 30

    /// The answer. What may be otherwise later says when to ask again.
    func response() -> HTTPResponse {
        let isTold = self.fields.contains { $0.name == "Retry-After" }
        let isLater = [429, 500, 503].contains(body.status) && !isTold
        let fields = isLater ? retrying(after: Self.usualPause).fields : self.fields
        return HTTPResponse(
            HTTPStatus(body.status),
            contentType: Wire.Problem.mediaType,
            body: body.body(),
            fields: fields
        )
    }

    /// The same with `Retry-After`, in whole seconds.
    func retrying(after seconds: Int) -> Problem {
        var problem = self
        problem.fields.append(HTTPField("Retry-After", String(seconds)))
        return problem
    }
}

/// More requests than a limit allows.
struct LimitExceeded: Error, Hashable, Sendable {
    /// `rateLimited` or `quotaExceeded`.
    let code: ProblemCode
    /// The limit, in whatever it counts.
    let limit: Int64
    /// What is left of it.
    let remaining: Int64
    /// Whole seconds until there is more.
    let resetSeconds: Int64
}

extension LimitExceeded {
    /// A vendor's quota of which all that is left is held for answers that wait for a write: no longer than a write waits.
    init(allHeld use: QuotaUse) {
        self.init(code: .quotaExceeded, limit: use.quota ?? 0, remaining: 0, resetSeconds: 2)
    }

    /// A vendor's quota of which nothing is left until the next month.
    init(_ use: QuotaUse, at now: Timestamp) {
        self.init(
            code: .quotaExceeded,
            limit: use.quota ?? 0,
            remaining: use.remaining ?? 0,
            resetSeconds: max(1, use.resetsAt.seconds(since: now))
        )
    }
}

extension Problem {
    /// The words for an error, whoever threw it.
    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let failure as HTTPFailure: self.init(failure)
        case let invalid as InvalidMembers: self.init(invalid)
        case let syntax as JSONSyntaxError:
            self.init(.malformedJSON, "The body is not the JSON that this server accepts: \(syntax).")
        case let limit as LimitExceeded: self.init(limit)
        case let refusal as Refusal: self.init(refusal)
        case let unsure as ClockUnsure: self.init(unsure)
        case let storage as StorageError: self.init(storage)
        case let error as CryptographyError where error.isTrouble:
            self = .trouble
            report = Report(level: .error, reason: error.description)
        default:
            self.init(.internalError, "The server could not complete the request.")
            // Only the type: a description made elsewhere may hold anything.
            report = Report(level: .error, reason: String(reflecting: type(of: error)))
        }
    }

    init(_ invalid: InvalidMembers) {
        let count = invalid.members.count
        self.init(
            .validation,
            count == 1
                ? Self.sentence(invalid.members[0])
                : "\(count) values are missing or not allowed."
        )
        body.errors = invalid.members
    }

    private static func sentence(_ member: InvalidMember) -> String {
        let pointer = member.pointer.description
        return pointer.isEmpty ? "The body \(member.detail)." : "The member \(pointer) \(member.detail)."
    }

    private init(_ limit: LimitExceeded) {
        self = Problem(
            limit.code,
            limit.code == .quotaExceeded
                ? "The validations of this month are used up." : "There were too many requests; try again later."
        ).retrying(after: Int(clamping: limit.resetSeconds))
        fields += [
            HTTPField("RateLimit-Limit", String(limit.limit)),
            HTTPField("RateLimit-Remaining", String(limit.remaining)),
            HTTPField("RateLimit-Reset", String(limit.resetSeconds)),
        ]
    }

    /// What was asked could not be found out, for want of memory say: no word about the question.
    static var trouble: Problem {
        Problem(.unavailable, "The server cannot do this for a moment; try again.").retrying(after: 5)
    }

    private init(_ unsure: ClockUnsure) {
        self = Problem(.clockUnsure, "The server's clock cannot be trusted; nothing is decided until it is right.")
            .retrying(after: 30)
        // Whoever watches the clock says so once and loudly; here it would be a line for each request.
        report = Report(level: .debug, reason: unsure.reason)
    }

    private init(_ error: StorageError) {
        if error.category == .clockUnsure {
            self.init(ClockUnsure(reason: error.message))
        } else if error.isTransient {
            self = Problem(.unavailable, "The server cannot do this for a moment; try again.").retrying(after: 1)
            report = Report(level: .warning, reason: error.description)
        } else if error.isDamage {
            self.init(
                .unavailable,
                "The server cannot do this until its database is mended; try again later."
            )
            report = Report(level: .error, reason: error.description)
        } else {
            self.init(.internalError, "The server could not complete the request.")
            report = Report(level: .error, reason: error.description)
        }
    }

    /// What the server itself refuses; it adds the fields its statuses demand.
    private init(_ failure: HTTPFailure) {
        switch failure {
        case .malformedRequest(let reason): self.init(.malformedRequest, reason)
        case .uriTooLong: self.init(.uriTooLong, "The request target is longer than this server takes.")
        case .headersTooLarge:
            self.init(.headersTooLarge, "The header section is longer, or has more fields, than this server takes.")
        case .bodyTooLarge(let limit):
            self.init(.bodyTooLarge, "The body is longer than the \(limit) bytes that this route takes.")
        case .expectationFailed:
            self.init(.expectationFailed, "The only expectation this server meets is 100-continue.")
        case .requestTimeout: self.init(.requestTimeout, "The request did not arrive in time.")
        case .methodNotImplemented: self.init(.notImplemented, "This server knows no such method.")
        case .transferCodingNotImplemented:
            self.init(.notImplemented, "The only transfer coding this server knows is chunked.")
        case .versionNotSupported: self.init(.versionNotSupported, "This server speaks HTTP/1.1.")
        case .notFound: self.init(.notFound, "There is nothing at this address.")
        case .methodNotAllowed(let allow): self.init(.methodNotAllowed, "This address takes \(allow).")
        case .unavailable(let seconds):
            self = Problem(.unavailable, "The server is busy; try again.").retrying(after: seconds)
        }
    }
}
