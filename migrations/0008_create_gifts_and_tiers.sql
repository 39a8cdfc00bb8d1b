-- What is given for nothing: by an administrator, to somebody, or by a product, to whoever has spent enough.
-- Instants are whole seconds since 1970 UTC; durations are ISO 8601 text.
CREATE TABLE gifts (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    -- Whom it is for: an install, whoever holds a seat of a license, or of a license of a customer.
    install_id TEXT REFERENCES installs (id),
    license_id TEXT REFERENCES licenses (id),
    customer_id TEXT REFERENCES customers (id),
    starts_at INTEGER NOT NULL,
    -- Exclusive; NULL: no end.
    ends_at INTEGER CHECK (ends_at > starts_at),
    -- When it was taken back.
    withdrawn_at INTEGER,
    CHECK ((install_id IS NOT NULL) + (license_id IS NOT NULL) + (customer_id IS NOT NULL) = 1)
) STRICT;

CREATE INDEX gifts_by_product ON gifts (product_id, id);
CREATE INDEX gifts_by_install ON gifts (install_id);
CREATE INDEX gifts_by_license ON gifts (license_id);
CREATE INDEX gifts_by_customer ON gifts (customer_id);

CREATE TABLE gift_features (
    gift_id TEXT NOT NULL REFERENCES gifts (id),
    feature_code TEXT NOT NULL,
    product_id TEXT NOT NULL,
    PRIMARY KEY (gift_id, feature_code),
    FOREIGN KEY (product_id, feature_code) REFERENCES features (product_id, code)
) STRICT, WITHOUT ROWID;

-- Who has reached one is written nowhere: it follows from purchases and the links to them.
CREATE TABLE spend_tiers (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    code TEXT NOT NULL,
    -- ISO 4217.
    currency TEXT NOT NULL CHECK (length(currency) = 3),
    -- Thousandths of the currency's unit.
    threshold_milliunits INTEGER NOT NULL CHECK (threshold_milliunits > 0),
    -- From the moment the threshold is reached; NULL: no end.
    duration TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (product_id, code)
) STRICT;

CREATE TABLE spend_tier_features (
    tier_id TEXT NOT NULL REFERENCES spend_tiers (id),
    feature_code TEXT NOT NULL,
    product_id TEXT NOT NULL,
    PRIMARY KEY (tier_id, feature_code),
    FOREIGN KEY (product_id, feature_code) REFERENCES features (product_id, code)
) STRICT, WITHOUT ROWID;
