-- Who sells what: vendors, their products, features and plans.
-- Instants are whole seconds since 1970 UTC; durations are ISO 8601 text, those ending in _seconds are seconds; booleans
-- are 0 or 1; ids are a prefix and 26 symbols of ULID.
CREATE TABLE vendors (
    id TEXT NOT NULL PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    -- Unique on a server: countersign:<slug>, or a configured URL.
    issuer TEXT NOT NULL UNIQUE,
    issuer_is_configured INTEGER NOT NULL CHECK (issuer_is_configured IN (0, 1)),
    validation_quota INTEGER CHECK (validation_quota >= 0),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE products (
    id TEXT NOT NULL PRIMARY KEY,
    vendor_id TEXT NOT NULL REFERENCES vendors (id),
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    key_prefix TEXT NOT NULL,
    -- NULL: never configured; PT0S: trials are off. Two different answers.
    trial_duration TEXT,
    -- A plan of this product, by its code.
    trial_plan TEXT,
    trial_start TEXT NOT NULL DEFAULT 'first_contact' CHECK (trial_start IN ('first_contact', 'explicit')),
    offline_life TEXT NOT NULL,
    refresh_after TEXT NOT NULL,
    free_tier INTEGER NOT NULL DEFAULT 0 CHECK (free_tier IN (0, 1)),
    keep_license_keys INTEGER NOT NULL DEFAULT 1 CHECK (keep_license_keys IN (0, 1)),
    minimum_version TEXT,
    -- The vendor's own signed settings: one JSON object of at most 2 KiB.
    extra TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (vendor_id, slug)
) STRICT;

CREATE TABLE features (
    product_id TEXT NOT NULL REFERENCES products (id),
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (product_id, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('trial', 'subscription', 'purchase')),
    -- NULL: licenses of this plan do not end.
    duration TEXT,
    expiry_basis TEXT NOT NULL CHECK (expiry_basis IN ('issue', 'first_activation')),
    expiry_grace TEXT NOT NULL,
    -- NULL: unlimited.
    seat_limit INTEGER CHECK (seat_limit >= 0),
    seat_policy TEXT NOT NULL CHECK (seat_policy IN ('deny', 'release_oldest', 'allow_overage')),
    overage_percent INTEGER NOT NULL CHECK (overage_percent >= 0),
    -- NULL: the offline life.
    idle_before_release TEXT,
    -- NULL: seats do not end by themselves.
    lease_seconds INTEGER CHECK (lease_seconds > 0),
    -- NULL: the product's.
    offline_life TEXT,
    -- NULL: no cap on new seats.
    transfer_limit INTEGER CHECK (transfer_limit >= 0),
    transfer_period TEXT,
    self_release INTEGER NOT NULL CHECK (self_release IN (0, 1)),
    -- Environment rule carried on this plan's grants: one JSON object.
    environment TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (product_id, code)
) STRICT;

-- Tables without rowid begin with the columns of their key: the integrity check of SQLite 3.40 takes the columns of others
-- for one another, and reports NULL values that are none.
CREATE TABLE plan_features (
    plan_id TEXT NOT NULL REFERENCES plans (id),
    feature_code TEXT NOT NULL,
    product_id TEXT NOT NULL,
    PRIMARY KEY (plan_id, feature_code),
    FOREIGN KEY (product_id, feature_code) REFERENCES features (product_id, code)
) STRICT, WITHOUT ROWID;
