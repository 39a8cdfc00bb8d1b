import CountersignWire
public import Diagnostics
public import HTTPServer

/// One thing the API can do: what serves it, and what describes it.
public struct Endpoint: Sendable {
    /// For logs: one of few words.
    public let name: String
    /// The method.
    public let method: HTTPMethod
    /// The path, parameters in braces.
    public let path: String
    /// One sentence for the description of the interface.
    public let summary: String
    /// The rest of that description.
    let description: RouteDescription
    /// Which credential it takes.
    public let credential: RouteCredential
    /// Longest body in bytes; nil for the server's default.
    public let bodyLimit: Int?
    let handler: Handler<LoopState>
    /// Asked before the body is read where no credential is.
    private let isKnown: Admission<LoopState>?
    private let counting: RequestCounting

    init(
        _ name: String,
        _ method: HTTPMethod,
        _ path: String,
        _ summary: String,
        _ description: RouteDescription,
        credential: RouteCredential,
        bodyLimit: Int? = nil,
        counting: RequestCounting = .address,
        isKnown: Admission<LoopState>? = nil,
        handler: @escaping Handler<LoopState>
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.summary = summary
        self.description = description
        self.credential = credential
        self.bodyLimit = bodyLimit
        self.counting = Routes.isHealthCheck(name) ? .none : counting
        self.isKnown = isKnown
        self.handler = handler
    }

    /// What the server routes by.
    ///
    /// - Parameter limit: the longest body, where it is not the route's usual one.
    func route(bodyLimit limit: Int? = nil) -> Route<LoopState> {
        let handler = handler
        let counting = counting
        return Route(name, method, path, bodyLimit: limit ?? bodyLimit, admit: admission) { request, context in
            context.trace = RequestTrace()
            try context.count(request, against: counting, takes: !request.wasAdmitted)
            let outcome = try handler(request, &context)
            // Its answer comes later; others come before.
            if case .job = outcome { context.trace = RequestTrace() }
            return outcome
        }
    }

    /// What is asked before a body is read that is still on its way. The request counts now, whether the body ever comes or
    /// not, and not again when it has come.
    private var admission: Admission<LoopState> {
        let admit = credential.admission ?? isKnown
        let counting = counting
        return { request, context in
            context.trace = RequestTrace()
            try context.count(request, against: counting, takes: true)
            try admit?(request, &context)
        }
    }
}

/// The one table of everything the API can do: requests are served from it, and it describes the interface.
public enum Routes {
    /// Every endpoint.
    public static let all: [Endpoint] = apps + stores + keys + AdministrationRoutes.all + server

    /// Makes the numbers for the server's metrics, by these routes and all codes.
    public static func makeMetrics() -> ServerMetrics {
        ServerMetrics(routes: all.map(\.path), codes: ProblemCode.allCases.map(\.rawValue))
    }

    /// All routes, to be found by path and method.
    static var router: Router<LoopState> { router([:]) }

    /// All routes, with other limits for the bodies of those that are named.
    static func router(_ bodyLimits: [String: Int]) -> Router<LoopState> {
        Router(all.map { $0.route(bodyLimit: bodyLimits[$0.name]) })
    }

    /// Whether a route is one that a load balancer asks all day.
    static func isHealthCheck(_ name: String?) -> Bool {
        guard let name else { return false }
        return healthChecks.contains(name)
    }

    private static let healthChecks: Set<String> = ["health", "ready", "v1.health", "v1.ready"]

    private static let apps = [
        Endpoint("activate", .post, "/v1/activate", "Claims a seat of a license.", .activate, credential: .app) {
            try $1.act(Activate.self, $0)
        },
        Endpoint("validate", .post, "/v1/validate", "Asks whether a license is in force.", .validate, credential: .app)
        {
            try $1.ask(Validate.self, $0)
        },
        Endpoint("deactivate", .post, "/v1/deactivate", "Releases the install's seat.", .deactivate, credential: .app) {
            try $1.act(Deactivate.self, $0)
        },
        Endpoint("heartbeat", .post, "/v1/heartbeat", "Renews a floating lease.", .heartbeat, credential: .app) {
            try $1.ask(Heartbeat.self, $0)
        },
        Endpoint("seats", .post, "/v1/seats", "Lists the seats of a license.", .seats, credential: .app) {
            try $1.ask(ListSeats.self, $0)
        },
        Endpoint(
            "trial",
            .post,
            "/v1/trial",
            "Starts the install's trial, or tells what it is.",
            .trial,
            credential: .app
        ) {
            try $1.ask(AskTrial.self, $0)
        },
        Endpoint("sync", .post, "/v1/sync", "Fetches the install's current bundle.", .sync, credential: .app) {
            try $1.ask(Sync.self, $0)
        },
        Endpoint(
            "meters.peek",
            .post,
            "/v1/meters/peek",
            "Asks how much of meters is left.",
            .peekMeters,
            credential: .app
        ) {
            try $1.ask(PeekMeters.self, $0)
        },
        Endpoint(
            "meters.consume",
            .post,
            "/v1/meters/consume",
            "Counts amounts of meters, all or none.",
            .consumeMeters,
            credential: .app
        ) {
            try $1.act(ConsumeMeters.self, $0)
        },
    ]

    private static let stores = [
        Endpoint(
            "store.verify",
            .post,
            "/v1/store/verify",
            "Verifies a transaction of the App Store and grants what it gives.",
            .verifyPurchase,
            credential: .app,
            bodyLimit: 96 * 1024
        ) {
            try $1.prove(VerifyPurchase.self, $0)
        },
        Endpoint(
            "store.notification",
            .post,
            "/v1/store/apple/notifications/{connection}",
            "Takes an App Store Server Notification, version 2; its signature is the proof.",
            .storeNotification,
            credential: .none,
            bodyLimit: 320 * 1024,
            counting: .storeConnection,
            isKnown: StoreNotificationRoute.admit,
            handler: StoreNotificationRoute.receive
        ),
    ]

    private static let keys = [
        Endpoint(
            "config",
            .get,
            "/v1/config",
            "The signed settings and offers of the product.",
            .configuration,
            credential: .app,
            handler: ConfigurationRoutes.ofCaller
        ),
        Endpoint(
            "keys",
            .get,
            "/v1/keys",
            "The public keys of the vendor and mode.",
            .callersKeys,
            credential: .app,
            handler: KeyRoutes.ofCaller
        ),
        Endpoint(
            "jwks",
            .get,
            "/v1/vendors/{slug}/jwks.json",
            "The public keys of a vendor's live mode.",
            .vendorsKeys,
            credential: .none,
            handler: KeyRoutes.ofVendor
        ),
    ]

    private static let server = [
        Endpoint("root", .get, "/", "What this server is.", .root, credential: .none, handler: ServerRoutes.root),
        Endpoint(
            "health",
            .get,
            "/health",
            "Whether the process answers.",
            .health,
            credential: .none,
            handler: ServerRoutes.health
        ),
        Endpoint(
            "ready",
            .get,
            "/ready",
            "Whether decisions can be made and kept.",
            .ready,
            credential: .none,
            handler: ServerRoutes.ready
        ),
        Endpoint(
            "v1.health",
            .get,
            "/v1/health",
            "Whether the process answers.",
            .health,
            credential: .none,
            handler: ServerRoutes.health
        ),
        Endpoint(
            "v1.ready",
            .get,
            "/v1/ready",
            "Whether decisions can be made and kept.",
            .ready,
            credential: .none,
            handler: ServerRoutes.ready
        ),
        Endpoint(
            "openapi",
            .get,
            "/v1/openapi.json",
            "This description of the interface.",
            .interface,
            credential: .none,
            handler: ServerRoutes.interface
        ),
    ]
}
