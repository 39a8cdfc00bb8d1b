import HTTPServer

extension ServerOptions {
    /// What an operator configured.
    init(_ configuration: Configuration) {
        self.init()
        let limits = configuration.limits
        addresses = configuration.listen
        headerSeconds = limits.headerSeconds
        bodySeconds = limits.bodySeconds
        idleSeconds = limits.idleSeconds
        connections = limits.connections
        connectionsPerAddress = limits.connectionsPerAddress
        trustedProxies = configuration.trustedProxies
        headerBytes = limits.headerBytes
        headerFields = limits.headerFields
        targetBytes = limits.targetBytes
        bodyBytes = limits.bodyBytes
        outputBytes = limits.outBufferBytes
        heldBytes = limits.heldBytes
        requestsPerConnection = limits.keepaliveRequests
        shutdownGraceSeconds = configuration.shutdownGraceSeconds
        cors = CORSPolicy(configuration.cors)
    }
}

extension CORSPolicy {
    /// `nil` where no origin is allowed.
    init?(_ configuration: Configuration.CrossOrigin) {
        guard !configuration.allowedOrigins.isEmpty else { return nil }
        self.init(
            allowedOrigins: configuration.allowedOrigins,
            allowedHeaders: configuration.allowedHeaders,
            maxAgeSeconds: configuration.maxAgeSeconds
        )
    }
}

extension ListenAddress {
    /// The URL by which this machine reaches a server that listens here: what `countersign health` asks.
    var localURL: String {
        let text = description
        let hosts = [
            ("*:", "127.0.0.1:"), ("localhost:", "127.0.0.1:"), ("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:"),
        ]
        for (host, local) in hosts where text.hasPrefix(host) {
            return "http://" + local + text.dropFirst(host.count)
        }
        return "http://" + text
    }
}
