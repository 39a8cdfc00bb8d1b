internal import CountersignWire
internal import Cryptography
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON
internal import SystemPrimitives

/// Why a command was not done, as it is printed.
public struct CommandFailure: Error, Sendable {
    /// 1: understood, and refused or failed; 2: the command line cannot be understood.
    public let exitCode: Int32
    /// For programs.
    public let code: String
    /// For people; one line.
    public let message: String
    /// Further members of the error object, each with one JSON value.
    public var members: [(name: String, json: [UInt8])]
    /// What is printed on standard output before it, for people alone.
    public var text: String?

    /// A failure.
    public init(
        exitCode: Int32 = 1,
        code: String,
        _ message: String,
        members: [(name: String, json: [UInt8])] = [],
        text: String? = nil
    ) {
        self.exitCode = exitCode
        self.code = code
        self.message = message
        self.members = members
        self.text = text
    }

    /// A command line that cannot be understood; `option` is what is wrong with it.
    public static func usage(_ message: String, option: String? = nil) -> CommandFailure {
        CommandFailure(
            exitCode: 2,
            code: "USAGE",
            message,
            members: option.map { [("option", Self.json($0))] } ?? []
        )
    }

    /// The same of a command that writes in several transactions and has done some of them; a repeat goes on.
    ///
    /// - Parameter what: What was done, a sentence.
    func after(_ written: Int, _ what: String) -> CommandFailure {
        CommandFailure(
            exitCode: exitCode,
            code: code,
            "\(message); \(what): the same command goes on from there",
            members: members + [("written", Array("\(written)".utf8))],
            text: text
        )
    }

    static func json(_ text: String) -> [UInt8] {
        var writer = JSONWriter(capacity: text.utf8.count + 2)
        writer.value(text)
        return writer.finish()
    }

    /// `{"error":{"code","message",…}}`
    var object: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("error")
            writer.object { writer in
                writer.member("code", code)
                writer.member("message", message)
                for member in members {
                    writer.name(dynamic: member.name)
                    writer.value(json: member.json)
                }
            }
        }
        return writer.finish()
    }
}

/// The one place where an error meets an exit code.
extension CommandFailure {
    /// What is printed for `error`.
    public init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let refusal as Refusal: self.init(refusal)
        case let error as StorageError: self.init(code: error.commandCode, error.message)
        case let fault as VaultFault:
            self.init(code: fault.reason == .databaseLost ? "NO_DATABASE" : "MASTER_KEY", fault.message)
        case let unsure as ClockUnsure: self.init(code: "CLOCK_UNSURE", unsure.reason)
        case let mismatch as ServedClock.Mismatch: self.init(code: "TEST_CLOCK", mismatch.message)
        case let invalid as InvalidMembers: self.init(invalid)
        case let error as JSONSyntaxError: self.init(code: "MALFORMED_JSON", "the JSON is malformed: \(error)")
        case let error as SystemError: self.init(code: "IO", error.description)
        case let error as CryptographyError: self.init(code: "CRYPTOGRAPHY", error.description)
        case let fault as ValueFault: self.init(code: "VALIDATION", fault.reason)
        case is BundleService.NoSigningKey:
            self.init(code: "NO_SIGNING_KEY", "no key signs for this vendor and mode: restore a backup")
        default: self.init(code: "INTERNAL", "\(error)")
        }
    }

    init(_ refusal: Refusal) {
        var members: [(name: String, json: [UInt8])] = []
        var message = refusal.message
        if let member = refusal.member {
            members.append(("member", Self.json(member)))
            // The name says more than the sentence alone: "seat_limit: must not be negative".
            if !message.contains(member) { message = "\(member): \(message)" }
        }
        if let licenses = refusal.licenses { members.append(("licenses", Array("\(licenses)".utf8))) }
        self.init(code: refusal.code.rawValue, message, members: members)
    }

    private init(_ invalid: InvalidMembers) {
        var writer = JSONWriter()
        writer.array { writer in
            for member in invalid.members {
                writer.object { writer in
                    writer.member("pointer", member.pointer.description)
                    writer.member("detail", member.detail)
                }
            }
        }
        let places = invalid.members.map { member in
            member.pointer == .root ? member.detail : "\(member.pointer) \(member.detail)"
        }
        self.init(code: "VALIDATION", places.joined(separator: "; "), members: [("errors", writer.finish())])
    }
}

extension StorageError {
    /// The code of the error object.
    var commandCode: String {
        switch category {
        case .busy: "DATABASE_BUSY"
        case .full: "DISK_FULL"
        case .io: "IO"
        case .corrupt: "DATABASE_CORRUPT"
        case .constraint: "CONFLICT"
        case .access: "ACCESS"
        case .notOurs: "NOT_A_DATABASE"
        case .schema: "SCHEMA"
        case .served: "SERVER_RUNNING"
        case .unknownOutcome: "UNKNOWN_OUTCOME"
        case .unavailable, .queueFull, .transactionLost, .noMemory: "UNAVAILABLE"
        case .clockUnsure: "CLOCK_UNSURE"
        case .misuse, .other: "INTERNAL"
        }
    }
}
