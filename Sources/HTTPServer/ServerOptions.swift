#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Which browsers' pages may call (the Fetch standard's CORS protocol): for exact origins alone.
public struct CORSPolicy: Sendable {
    /// Origins as browsers send them, `https://app.example`; compared byte for byte.
    public var allowedOrigins: [String]
    /// Request fields a page may set.
    public var allowedHeaders: [String]
    /// Response fields a page may read.
    public var exposedHeaders: [String]
    /// How long a browser may remember a preflight.
    public var maxAgeSeconds: Int

    /// A policy. Its texts go into response fields: a control character in one is a caller's bug.
    public init(
        allowedOrigins: [String],
        allowedHeaders: [String],
        exposedHeaders: [String] = [
            "X-Request-Id", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
        ],
        maxAgeSeconds: Int = 600
    ) {
        for text in allowedOrigins + allowedHeaders + exposedHeaders {
            precondition(text.utf8.allSatisfy(isFieldContent), "an origin or field name has no control characters")
        }
        self.allowedOrigins = allowedOrigins
        self.allowedHeaders = allowedHeaders
        self.exposedHeaders = exposedHeaders
        self.maxAgeSeconds = maxAgeSeconds
    }
}

/// How a server listens and what it bears; the defaults are those of the configuration file.
public struct ServerOptions: Sendable {
    /// The most addresses there may be.
    public static let mostAddresses = 16

    /// Where to listen: at least one, at most `mostAddresses`.
    public var addresses: [ListenAddress] = [.loopback(port: 0)]
    /// For one header section, from its first byte, the first of a connection from the accept on; 0 = no limit.
    public var headerSeconds = 10
    /// For one body as a whole, from the end of its head; 0 = no limit.
    public var bodySeconds = 30
    /// Between requests, and for a client that does not read; 0 = no limit.
    public var idleSeconds = 60
    /// Connections at one time, beyond which whoever has been idle longest gives way; 0 = no limit but the process's
    /// descriptors.
    public var connections = 0
    /// Connections at one time from one address, not counted for local peers and `trustedProxies`; 0 = no limit.
    public var connectionsPerAddress = 0
    /// Peers that stand for many clients.
    public var trustedProxies: [NetworkPrefix] = []
    /// Longest header section in bytes, without the request line.
    public var headerBytes = 16 << 10
    /// Most field lines of one request.
    public var headerFields = 100
    /// Longest target in bytes.
    public var targetBytes = 8 << 10
    /// Longest body in bytes, for routes that name no limit of their own.
    public var bodyBytes = 64 << 10
    /// Answers that may wait for one slow reader in bytes; beyond, its next requests wait too.
    public var outputBytes = 1 << 20
    /// Memory for what clients send and read slowly, of all connections together, in bytes: one half for heads and bodies on
    /// their way in, one for answers on their way out. Beyond, whoever is slowest gives way; 0 = no limit.
    public var heldBytes = 128 << 20
    /// Requests on one connection; 0 = no limit.
    public var requestsPerConnection = 0
    /// How long running requests may take once the server stops.
    public var shutdownGraceSeconds = 10
    /// `nil` answers no OPTIONS and names no origin.
    public var cors: CORSPolicy?

    /// The defaults, on a free port of the loopback address.
    public init() {}

    /// One loop for each processor this process may use.
    public static var defaultLoops: Int {
        max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    var parser: RequestParser {
        RequestParser(targetBytes: targetBytes, headerBytes: headerBytes, fieldCount: headerFields)
    }
}
