import Diagnostics
import HTTPServer

/// Everything an operator may set, with the values that hold where nothing is set.
///
/// What each setting means, its unit and its range stand in `Setting.all`, which is the only way to change one: from a
/// file, the environment or a flag.
struct Configuration: Equatable, Sendable {
    /// Which requests get a line in the log.
    enum RequestLog: String, Sendable, CaseIterable {
        case all, failures, off
    }

    /// How the log is written.
    enum LogForm: String, Sendable, CaseIterable {
        case auto, json, text

        /// The format to use, by whether standard error is a terminal.
        func format(isTerminal: Bool) -> LogFormat {
            switch self {
            case .json: .json
            case .text: .text
            case .auto: isTerminal ? .text : .json
            }
        }
    }

    struct Log: Equatable, Sendable {
        var level = LogLevel.info
        var format = LogForm.auto
        var requests = RequestLog.all
    }

    struct Rates: Equatable, Sendable {
        var addressPerMinute = 3_000
        var firstContactsPerMinute = 300
        var trialsPerDay = 20
        var wrongKeysPerMinute = 30
        var adminPerMinute = 600
    }

    struct Limits: Equatable, Sendable {
        var bodyBytes = 65_536
        var verifyBodyBytes = 98_304
        var notificationBodyBytes = 327_680
        var headerBytes = 16_384
        var headerFields = 100
        var targetBytes = 8_192
        var headerSeconds = 10
        var bodySeconds = 30
        var idleSeconds = 60
        var connections = 10_000
        var connectionsPerAddress = 1_000
        var outBufferBytes = 1_048_576
        var heldBytes = 134_217_728
        var keepaliveRequests = 0
        var writerQueue = 16_384
        var rate = Rates()
    }

    struct CrossOrigin: Equatable, Sendable {
        var allowedOrigins: [String] = []
        var allowedHeaders = ["Authorization", "Content-Type", "Idempotency-Key", "X-API-Key", "X-Request-Id"]
        var maxAgeSeconds = 600
    }

    struct MetricsListener: Equatable, Sendable {
        /// `nil`: none.
        var listen: ListenAddress?
    }

    struct AppleStore: Equatable, Sendable {
        /// SHA-256 of certificates, in lower-case hexadecimal.
        var rootSHA256: [String] = []
    }

    struct Store: Equatable, Sendable {
        var apple = AppleStore()
    }

    var data = "./data"
    /// `nil`: `master.key` in the data directory.
    var masterKeyFile: String?
    var listen = [ListenAddress.bothLoopbacks(port: 8_080)]
    /// 0: one for each core.
    var loops = 0
    /// `nil`: made from the first address that is listened on. Without a slash at its end.
    var baseURL: String?
    var trustedProxies: [NetworkPrefix] = []
    var shutdownGraceSeconds = 10
    var lockWaitSeconds = 10
    var log = Log()
    var limits = Limits()
    var cors = CrossOrigin()
    var metrics = MetricsListener()
    var store = Store()
}
