public import AppStore
public import Licensing
public import StrictJSON

// What the command line shows of store connections and purchases, and what the audit log keeps of them.

extension StoreConnection {
    /// Where the store sends its notifications.
    public var notificationPath: String { "/v1/store/apple/notifications/\(id)" }

    /// Writes the connection by the names of the seed document, with its id and the path of notifications.
    ///
    /// - Parameter product: `vendor/product`, where that is told.
    public func write(to writer: inout JSONWriter, product: String? = nil) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("product", ifPresent: product)
            writer.member("store", "apple")
            writer.member("environment", environment.rawValue)
            writer.member("bundle_id", bundleID)
            writer.member("app_apple_id", orNull: appAppleID)
            writer.member("notification_path", notificationPath)
            writer.member("enabled", isEnabled)
            writer.name("root_sha256")
            writer.array { writer in
                for digest in additionalRootDigests { writer.value(digest.hexadecimal) }
            }
            writer.member("review_access", allowsReview)
            writer.member("allow_xcode", allowsXcode)
            writer.member("renewal_leeway", renewalLeeway.iso8601)
            writer.name("products")
            writer.array { writer in
                for product in products {
                    writer.object { writer in
                        writer.member("id", product.id)
                        Self.write(product.features, to: &writer)
                        writer.member("duration", ifPresent: product.duration?.iso8601)
                    }
                }
            }
            writer.name("grandfather")
            if let grandfather {
                writer.object { writer in
                    switch grandfather.condition {
                    case .before(let instant): writer.member("before", instant.rfc3339)
                    case .versionBelow(let version): writer.member("version_below", version)
                    }
                    Self.write(grandfather.features, to: &writer)
                }
            } else {
                writer.null()
            }
        }
    }

    private static func write(_ features: [FeatureCode], to writer: inout JSONWriter) {
        writer.name("features")
        writer.array { writer in for feature in features { writer.value(feature.text) } }
    }

    var jsonText: String {
        var writer = JSONWriter(capacity: 512)
        write(to: &writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}

extension StoreConnectionService.PurchaseFacts {
    /// Writes the purchase, what it is worth at `now`, and who presented it.
    public func write(to writer: inout JSONWriter, at now: Timestamp) {
        let transaction = purchase.transaction
        writer.object { writer in
            writer.member("id", purchase.id.text)
            writer.member("connection", connection.id.text)
            writer.member("product", transaction.productID)
            writer.member("type", transaction.type.rawValue)
            writer.member("state", history.condition(of: purchase, under: connection, at: now).rawValue)
            writer.member("environment", transaction.environment.rawValue)
            writer.member("transaction_id", transaction.transactionID)
            writer.member("original_transaction_id", transaction.originalTransactionID)
            writer.member("purchased_at", transaction.purchasedAt.rfc3339)
            writer.member("expires_at", orNull: history.end(of: purchase, under: connection)?.rfc3339)
            writer.member("revoked_at", orNull: transaction.revokedAt?.rfc3339)
            writer.member("price_milliunits", orNull: transaction.priceMilliunits)
            writer.member("currency", orNull: transaction.currency)
            writer.member("family_shared", transaction.isFamilyShared)
            if let renewal = history.renewal {
                writer.member("renews", !renewal.isKnownNotToRenew)
                writer.member("grace_ends_at", orNull: renewal.graceEndsAt?.rfc3339)
            }
            writer.name("installs")
            writer.array { writer in
                for (mode, link) in links {
                    writer.object { writer in
                        writer.member("id", link.install.text)
                        writer.member("mode", mode.rawValue)
                        writer.member("presented_at", link.presentedAt.rfc3339)
                        writer.member("last_seen_at", link.lastSeenAt.rfc3339)
                    }
                }
            }
        }
    }
}
