import HTTPServer
import Licensing
import LicensingServices

// The limits of design 2.4, each at the one place where what it counts is known.
//
// No answer but 429 carries `RateLimit` fields: an app has nothing to plan with them, and the buckets of an address are
// shared with strangers.

extension LoopState {
    /// Counts a request against its address, before anything else is looked at.
    ///
    /// - Parameter takes: false for a request that was counted when its head was there: it is only remembered whose it is.
    /// - Throws: `LimitExceeded`.
    mutating func passAddress(_ request: HTTPRequest, takes: Bool) throws(LimitExceeded) {
        shared.limiter.refresh(&limits)
        client = shared.limiter.client(request, under: limits.limits, log: shared.log)
        guard takes, let client else { return }
        try shared.limiter.pass(client.rateKey(.requests), under: limits.limits)
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
    func countWrongKey(_ client: ClientKey?) {
        guard let client else { return }
        // The last one of the bucket is still answered; the next request with a key is not.
        try? shared.limiter.pass(client.rateKey(.wrongKeys), under: limits.limits)
    }

    /// Why a client that showed too many unknown keys gets no answer about another one; nil where it may ask.
    func wrongKeyLimit(_ client: ClientKey?) -> LimitExceeded? {
        guard let client else { return nil }
        do {
            try shared.limiter.pass(client.rateKey(.wrongKeys), under: limits.limits, takes: false)
            return nil
        } catch {
            return error
        }
    }
}
