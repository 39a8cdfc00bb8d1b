import HTTPServer
import Licensing
import LicensingServices
import Storage

// The limits of design 2.4, each at the one place where what it counts is known.
//
// No answer but 429 carries `RateLimit` fields: an app has nothing to plan with them, and the buckets of an address are
// shared with strangers.

/// Whom a request counts against before anything else is looked at.
enum RequestCounting: Sendable {
    /// Nobody.
    case none
    /// The address it came from.
    case address
    /// The address, apart for each connection to a store: the App Store tells all vendors from few addresses, which share
    /// theirs with strangers where a proxy hides them. What turns out to be genuine, and new, is given back.
    case storeConnection
}

extension LoopState {
    /// Counts a request, before anything else is looked at.
    ///
    /// - Parameter takes: false for a request that was counted when its head was there: it is only remembered whose it is.
    /// - Throws: `LimitExceeded`; `StorageError`, where a connection is looked for.
    mutating func count(_ request: HTTPRequest, against counting: RequestCounting, takes: Bool) throws {
        if case .none = counting { return }
        shared.limiter.refresh(&limits)
        client = shared.limiter.client(request, under: limits.limits, log: shared.log)
        guard takes, let client else { return }
        try shared.limiter.pass(try bucket(of: request, from: client, counting), under: limits.limits)
    }

    private func bucket(
        of request: HTTPRequest,
        from client: ClientKey,
        _ counting: RequestCounting
    ) throws -> RateKey {
        // Only a connection that is there has a bucket: made-up ones would give a stranger as many as he likes.
        guard case .storeConnection = counting, let id = StoreNotificationRoute.connectionID(of: request),
            try reader.snapshot({ db in try services.store.connection(id, in: db) }) != nil
        else { return client.requests }
        return client.notifications(for: id)
    }

    /// Counts a request of an administrator against the credential.
    ///
    /// - Throws: `LimitExceeded`.
    mutating func pass(_ credential: CredentialID) throws(LimitExceeded) {
        shared.limiter.refresh(&limits)
        let key = RateKey(kind: .administration, high: credential.high, low: credential.low)
        try shared.limiter.pass(key, under: limits.limits)
    }

    /// Remembers that a client showed a license key that nobody has.
    ///
    /// - Parameter bucket: `Contact.bucket(.wrongKeys)`.
    func countWrongKey(_ bucket: RateKey?) {
        guard let bucket else { return }
        // The last one of the bucket is still answered; the next request with a key is not.
        try? shared.limiter.pass(bucket, under: limits.limits)
    }
}
