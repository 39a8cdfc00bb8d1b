-- What was bought in a store: the connections of products to it, purchases as their newest signed copies describe them,
-- and which installs presented them.
-- Instants are whole seconds since 1970 UTC but for those ending in _ms, which order signed copies; durations are ISO 8601
-- text; booleans are 0 or 1.
CREATE TABLE store_connections (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    store TEXT NOT NULL CHECK (store IN ('apple')),
    environment TEXT NOT NULL CHECK (environment IN ('Production', 'Sandbox', 'Xcode', 'LocalTesting')),
    bundle_id TEXT NOT NULL CHECK (bundle_id <> ''),
    app_apple_id INTEGER,
    allow_xcode INTEGER NOT NULL CHECK (allow_xcode IN (0, 1)),
    review_access INTEGER NOT NULL CHECK (review_access IN (0, 1)),
    renewal_leeway TEXT NOT NULL,
    -- Who bought the app before this instant, or in a version below this one, keeps the grandfathered features.
    grandfather_before INTEGER,
    grandfather_version_below TEXT,
    is_enabled INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (product_id, store, environment, bundle_id),
    CHECK (grandfather_before IS NULL OR grandfather_version_below IS NULL)
) STRICT;

-- Roots trusted beside the store's own and the configured ones: SHA-256 of the certificate's DER.
CREATE TABLE store_roots (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (connection_id, digest)
) STRICT, WITHOUT ROWID;

-- The map of a connection: what a product of the store gives.
CREATE TABLE store_products (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    store_product_id TEXT NOT NULL CHECK (store_product_id <> ''),
    -- Of non-renewing subscriptions; NULL: no end.
    duration TEXT,
    PRIMARY KEY (connection_id, store_product_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE store_product_features (
    connection_id TEXT NOT NULL,
    store_product_id TEXT NOT NULL,
    feature_code TEXT NOT NULL,
    product_id TEXT NOT NULL,
    PRIMARY KEY (connection_id, store_product_id, feature_code),
    FOREIGN KEY (connection_id, store_product_id) REFERENCES store_products (connection_id, store_product_id),
    FOREIGN KEY (product_id, feature_code) REFERENCES features (product_id, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE grandfathered_features (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    feature_code TEXT NOT NULL,
    product_id TEXT NOT NULL,
    PRIMARY KEY (connection_id, feature_code),
    FOREIGN KEY (product_id, feature_code) REFERENCES features (product_id, code)
) STRICT, WITHOUT ROWID;

-- One thing bought, or one paid period of a subscription, as the newest signed copy describes it.
CREATE TABLE purchases (
    id TEXT NOT NULL PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    original_transaction_id TEXT NOT NULL,
    -- Names the thing or period among the copies of one original transaction.
    purchase_key TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    web_order_line_item_id TEXT,
    store_product_id TEXT NOT NULL,
    bundle_id TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('Production', 'Sandbox', 'Xcode', 'LocalTesting')),
    -- The store's own word.
    type TEXT NOT NULL,
    purchased_at INTEGER NOT NULL,
    originally_purchased_at INTEGER NOT NULL,
    expires_at INTEGER,
    signed_ms INTEGER NOT NULL,
    revoked_at INTEGER,
    is_upgraded INTEGER NOT NULL CHECK (is_upgraded IN (0, 1)),
    is_family_shared INTEGER NOT NULL CHECK (is_family_shared IN (0, 1)),
    -- Thousandths of the currency's unit, for the whole purchase.
    price_milliunits INTEGER,
    currency TEXT,
    recorded_at INTEGER NOT NULL,
    UNIQUE (connection_id, original_transaction_id, purchase_key)
) STRICT;

CREATE INDEX purchases_by_connection ON purchases (connection_id, id);
CREATE INDEX purchases_by_original ON purchases (original_transaction_id);

-- How a subscription goes on, as the newest signed copy says.
CREATE TABLE renewal_infos (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    original_transaction_id TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('Production', 'Sandbox', 'Xcode', 'LocalTesting')),
    signed_ms INTEGER NOT NULL,
    grace_ends_at INTEGER,
    renews INTEGER CHECK (renews IN (0, 1)),
    expiration_intent INTEGER,
    is_in_billing_retry INTEGER NOT NULL CHECK (is_in_billing_retry IN (0, 1)),
    PRIMARY KEY (connection_id, original_transaction_id)
) STRICT, WITHOUT ROWID;

-- Who got the app itself, when and in which version: for customers from the time when it cost money.
CREATE TABLE app_purchases (
    id TEXT NOT NULL PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    purchase_key TEXT NOT NULL,
    app_transaction_id TEXT,
    bundle_id TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('Production', 'Sandbox', 'Xcode', 'LocalTesting')),
    originally_purchased_ms INTEGER NOT NULL,
    original_version TEXT NOT NULL,
    signed_ms INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    UNIQUE (connection_id, purchase_key)
) STRICT;

-- The installs that presented a transaction of an original transaction, or the purchase of the app (by its key).
-- Fingerprint and last contact are the install's own.
CREATE TABLE purchase_links (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    original_transaction_id TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    install_id TEXT NOT NULL REFERENCES installs (id),
    presented_at INTEGER NOT NULL,
    PRIMARY KEY (connection_id, original_transaction_id, mode, install_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX purchase_links_by_install ON purchase_links (install_id);

-- Sandbox transactions that were presented in live mode, which gives what they give for a day, counted from here.
CREATE TABLE review_presentations (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    transaction_id TEXT NOT NULL,
    purchase_id TEXT NOT NULL REFERENCES purchases (id),
    presented_at INTEGER NOT NULL,
    PRIMARY KEY (connection_id, transaction_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX review_presentations_by_purchase ON review_presentations (purchase_id, presented_at);
CREATE INDEX review_presentations_by_time ON review_presentations (connection_id, presented_at);

-- The store's messages; one that comes again finds its name here.
CREATE TABLE store_notifications (
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    uuid TEXT NOT NULL,
    type TEXT NOT NULL,
    subtype TEXT,
    signed_ms INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (connection_id, uuid)
) STRICT, WITHOUT ROWID;

-- What was signed, as it came, for disputes; removed after 180 days.
CREATE TABLE store_documents (
    -- SHA-256 of the JWS: one that comes again is kept once.
    connection_id TEXT NOT NULL REFERENCES store_connections (id),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    kind TEXT NOT NULL CHECK (kind IN ('transaction', 'app_transaction', 'notification')),
    jws BLOB NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (connection_id, digest)
) STRICT;

CREATE INDEX store_documents_by_time ON store_documents (received_at);
