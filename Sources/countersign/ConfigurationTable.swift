import HTTPServer

extension Setting {
    /// Every setting, in the order in which they are documented. Defaults are those of `Configuration()`.
    static let all: [Setting] = general + log + limits + rates + others

    private static let general = [
        Setting(
            "data",
            \.data,
            .path,
            flag: "--data",
            "The directory of the database, its locks and its master key."
        ),
        Setting(
            "master_key_file",
            \.masterKeyFile,
            .optional(.path),
            "The file of the master key, mode 0600. Empty: master.key in the data directory."
        ),
        Setting(
            "listen",
            \.listen,
            .list(of: .listenAddress, atLeast: 1, atMost: ServerOptions.mostAddresses),
            flag: "--listen",
            """
            Where to listen: 127.0.0.1:8080, [::1]:8080, localhost:8080 (both loopbacks) or *:8080 (every address, IPv4 \
            and IPv6). Port 0 lets the system choose. TLS is the proxy's.
            """
        ),
        Setting(
            "loops",
            \.loops,
            .integer(1...256, "event loops", zero: "one for each core"),
            flag: "--loops",
            "How many threads answer requests."
        ),
        Setting(
            "base_url",
            \.baseURL,
            .optional(.webAddress),
            "The URL that clients use, as the product set-up prints it. Empty: made from the first address listened on."
        ),
        Setting(
            "trusted_proxies",
            \.trustedProxies,
            .list(of: .addressBlock),
            isReloadable: true,
            """
            Proxies whose X-Forwarded-For is believed. Without them a client behind a proxy has the proxy's address, and \
            requests from private and loopback addresses are not limited.
            """
        ),
        Setting(
            "shutdown_grace",
            \.shutdownGraceSeconds,
            .duration(0...600),
            "How long requests that run may take after SIGTERM; one that is not all here yet has a quarter of it to come."
        ),
        Setting(
            "lock_wait",
            \.lockWaitSeconds,
            .duration(0...600),
            "How long a start waits for another server on the same data directory to end."
        ),
    ]

    private static let log = [
        Setting(
            "log.level",
            \.log.level,
            .choice(),
            isReloadable: true,
            "The least level that is written to standard error."
        ),
        Setting(
            "log.format",
            \.log.format,
            .choice(),
            "One JSON object a line, or text for people. auto: text where standard error is a terminal."
        ),
        Setting(
            "log.requests",
            \.log.requests,
            .choice(),
            isReloadable: true,
            "Which requests get a line: all, failures (status 400 and above) or off. Health checks never get one."
        ),
    ]

    private static let limits = [
        Setting(
            "limits.body_bytes",
            \.limits.bodyBytes,
            .integer(1_024...16_777_216, "bytes"),
            "The longest request body, where the route has no limit of its own."
        ),
        Setting(
            "limits.verify_body_bytes",
            \.limits.verifyBodyBytes,
            .integer(1_024...16_777_216, "bytes"),
            "The longest body of POST /v1/store/verify."
        ),
        Setting(
            "limits.notification_body_bytes",
            \.limits.notificationBodyBytes,
            .integer(1_024...16_777_216, "bytes"),
            "The longest body of a store's notification."
        ),
        Setting(
            "limits.header_bytes",
            \.limits.headerBytes,
            .integer(1_024...1_048_576, "bytes"),
            "The longest header section, without the request line."
        ),
        Setting(
            "limits.header_fields",
            \.limits.headerFields,
            .integer(8...10_000, "fields"),
            "The most header fields of a request."
        ),
        Setting(
            "limits.target_bytes",
            \.limits.targetBytes,
            .integer(256...1_048_576, "bytes"),
            "The longest path with its query."
        ),
        Setting(
            "limits.header_seconds",
            \.limits.headerSeconds,
            .integer(1...3_600, "seconds", zero: "no limit"),
            "How long a whole header section may take; the first one counts from the accept on."
        ),
        Setting(
            "limits.body_seconds",
            \.limits.bodySeconds,
            .integer(1...3_600, "seconds", zero: "no limit"),
            "How long a whole request body may take."
        ),
        Setting(
            "limits.idle_seconds",
            \.limits.idleSeconds,
            .integer(1...86_400, "seconds", zero: "no limit"),
            "How long a connection may wait between two requests."
        ),
        Setting(
            "limits.connections",
            \.limits.connections,
            .integer(1...1_000_000, "connections", zero: "no limit"),
            "Connections open at a time; beyond, whoever has been idle longest gives way to who comes."
        ),
        Setting(
            "limits.connections_per_address",
            \.limits.connectionsPerAddress,
            .integer(1...1_000_000, "connections", zero: "no limit"),
            "Connections of one address at a time; not for private, loopback and trusted addresses."
        ),
        Setting(
            "limits.out_buffer_bytes",
            \.limits.outBufferBytes,
            .integer(65_536...268_435_456, "bytes"),
            "Answers that may wait for a client that reads slowly; beyond, its next requests wait too."
        ),
        Setting(
            "limits.held_bytes",
            \.limits.heldBytes,
            .integer(16_777_216...1_099_511_627_776, "bytes", zero: "no limit"),
            """
            Memory for what clients send and read slowly, of all connections together: one half for requests on their way \
            in, one for answers on their way out. Beyond, whoever has been slow longest is cut off.
            """
        ),
        Setting(
            "limits.keepalive_requests",
            \.limits.keepaliveRequests,
            .integer(1...1_000_000_000, "requests", zero: "no limit"),
            "Requests of one connection before it is closed."
        ),
        Setting(
            "limits.writer_queue",
            \.limits.writerQueue,
            .integer(16...1_000_000, "jobs"),
            "Writes that may wait. One credential may fill a quarter of it; beyond, the answer is 503."
        ),
    ]

    private static let rates = [
        Setting(
            "limits.rate.address_per_minute",
            \.limits.rate.addressPerMinute,
            .integer(1...10_000_000, "requests a minute", zero: "no limit"),
            isReloadable: true,
            "Requests of one client address (IPv6: of one /64); as many may come at once. As many notifications of a store for "
                + "each connection, apart from them; genuine ones do not count."
        ),
        Setting(
            "limits.rate.first_contacts_per_minute",
            \.limits.rate.firstContactsPerMinute,
            .integer(1...10_000_000, "installs a minute", zero: "no limit"),
            isReloadable: true,
            "First contacts of new installs from one client address, for each vendor. An office that rolls out an app needs its "
                + "size here."
        ),
        Setting(
            "limits.rate.trials_per_day",
            \.limits.rate.trialsPerDay,
            .integer(1...10_000_000, "trials a day", zero: "no limit"),
            isReloadable: true,
            "New trials from one client address, for each vendor."
        ),
        Setting(
            "limits.rate.wrong_keys_per_minute",
            \.limits.rate.wrongKeysPerMinute,
            .integer(1...10_000_000, "requests a minute", zero: "no limit"),
            isReloadable: true,
            "Requests with unknown license keys from one client address, for each vendor. After as many, only keys of that "
                + "vendor whose seat the install holds are answered, so that nobody guesses on; its customers who share "
                + "the address and activate wait."
        ),
        Setting(
            "limits.rate.admin_per_minute",
            \.limits.rate.adminPerMinute,
            .integer(1...10_000_000, "requests a minute", zero: "no limit"),
            isReloadable: true,
            "Requests with one administration credential (sk_)."
        ),
    ]

    private static let others = [
        Setting(
            "cors.allowed_origins",
            \.cors.allowedOrigins,
            .list(of: .origin),
            isReloadable: true,
            "Web pages that may call the API from a browser: exact origins. Empty: no CORS at all."
        ),
        Setting(
            "cors.allowed_headers",
            \.cors.allowedHeaders,
            .list(of: .fieldName),
            isReloadable: true,
            "Header fields that such pages may send."
        ),
        Setting(
            "cors.max_age",
            \.cors.maxAgeSeconds,
            .duration(0...86_400),
            isReloadable: true,
            "How long a browser may remember that a page may call."
        ),
        Setting(
            "metrics.listen",
            \.metrics.listen,
            .optional(.listenAddress),
            "Where Prometheus finds GET /metrics, for example 127.0.0.1:9090. Empty: nowhere."
        ),
        Setting(
            "store.apple.root_sha256",
            \.store.apple.rootSHA256,
            .list(of: .fingerprint),
            "Roots to trust for App Store signatures beside Apple's own, for tests with Xcode: SHA-256 of certificates."
        ),
    ]
}
