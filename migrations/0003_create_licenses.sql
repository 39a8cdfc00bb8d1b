-- What is sold and who holds it: customers, licenses and their keys, installs and the seats they hold.
-- A license is found by the keyed digest of its key: the key itself is here only sealed, and only where the product keeps keys.
CREATE TABLE customers (
    id TEXT NOT NULL PRIMARY KEY,
    vendor_id TEXT NOT NULL REFERENCES vendors (id),
    -- Both NULL once the person was erased.
    email TEXT,
    name TEXT,
    created_at INTEGER NOT NULL,
    erased_at INTEGER
) STRICT;

CREATE UNIQUE INDEX customers_by_email ON customers (vendor_id, email) WHERE email IS NOT NULL;

CREATE TABLE licenses (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    plan_id TEXT NOT NULL REFERENCES plans (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    customer_id TEXT REFERENCES customers (id),
    order_id TEXT,
    -- Digest of the parameters an order was issued with: the same order id with others is a conflict.
    order_digest BLOB,
    standing TEXT NOT NULL CHECK (standing IN ('active', 'suspended', 'revoked')),
    standing_reason TEXT,
    starts_at INTEGER,
    -- NULL: no end, or none before the first activation.
    expires_at INTEGER,
    -- The end is counted in calendar months from an anchor, so that an end on the 31st comes back.
    term_anchor INTEGER,
    term_months INTEGER NOT NULL DEFAULT 0,
    -- Set while the duration waits for the first activation.
    pending_duration TEXT,
    first_activated_at INTEGER,
    maintenance_until INTEGER,
    -- The overrides of the plan: NULL follows it.
    seat_limit_kind TEXT NOT NULL CHECK (seat_limit_kind IN ('plan', 'value', 'unlimited')),
    seat_limit INTEGER CHECK (seat_limit >= 0),
    seat_policy TEXT CHECK (seat_policy IN ('deny', 'release_oldest', 'allow_overage')),
    offline_life TEXT,
    environment TEXT,
    created_at INTEGER NOT NULL,
    CHECK ((seat_limit_kind = 'value') = (seat_limit IS NOT NULL)),
    CHECK ((order_id IS NULL) = (order_digest IS NULL))
) STRICT;

CREATE UNIQUE INDEX licenses_by_order ON licenses (product_id, mode, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX licenses_by_product ON licenses (product_id, id);
CREATE INDEX licenses_by_plan ON licenses (plan_id);
CREATE INDEX licenses_by_customer ON licenses (customer_id, id) WHERE customer_id IS NOT NULL;

CREATE TABLE license_keys (
    -- HMAC-SHA-256 of purpose, product, and canonical text.
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    license_id TEXT NOT NULL REFERENCES licenses (id),
    last_four TEXT NOT NULL,
    sealed BLOB,
    created_at INTEGER NOT NULL,
    -- Set when the license was reissued: the key still serves installs that hold a seat.
    replaced_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX license_keys_current ON license_keys (license_id) WHERE replaced_at IS NULL;

CREATE TABLE installs (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    -- HMAC-SHA-256 of purpose, product and folded install id: the id itself is a secret of the client's.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    fingerprint BLOB CHECK (length(fingerprint) = 32),
    device_name TEXT,
    platform TEXT,
    app_version TEXT,
    os_version TEXT,
    model TEXT,
    arch TEXT,
    first_seen_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    UNIQUE (product_id, mode, digest)
) STRICT;

CREATE INDEX installs_by_last_seen ON installs (last_seen_at);
CREATE INDEX installs_by_fingerprint ON installs (product_id, mode, fingerprint) WHERE fingerprint IS NOT NULL;

CREATE TABLE activations (
    id TEXT NOT NULL PRIMARY KEY,
    license_id TEXT NOT NULL REFERENCES licenses (id),
    install_id TEXT NOT NULL REFERENCES installs (id),
    fingerprint BLOB CHECK (length(fingerprint) = 32),
    device_name TEXT,
    platform TEXT,
    activated_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    -- Both set on floating seats: when it was last renewed, and until when that lasts at most, exclusive.
    lease_renewed_at INTEGER,
    lease_expires_at INTEGER,
    released_at INTEGER,
    release_reason TEXT CHECK (
        release_reason IN ('deactivated', 'replaced', 'idle', 'lease_ended', 'administrator', 'reissued')
    ),
    CHECK ((released_at IS NULL) = (release_reason IS NULL)),
    CHECK ((lease_renewed_at IS NULL) = (lease_expires_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX activations_held ON activations (license_id, install_id) WHERE released_at IS NULL;
CREATE INDEX activations_by_license ON activations (license_id, activated_at);
CREATE INDEX activations_by_install ON activations (install_id, released_at);

-- A reinstall took a seat over: the seat keeps its id, the old install is replaced.
CREATE TABLE seat_takeovers (
    activation_id TEXT NOT NULL REFERENCES activations (id),
    taken_over_at INTEGER NOT NULL,
    to_install_id TEXT NOT NULL REFERENCES installs (id),
    license_id TEXT NOT NULL REFERENCES licenses (id),
    from_install_id TEXT NOT NULL REFERENCES installs (id),
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    PRIMARY KEY (activation_id, taken_over_at, to_install_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX seat_takeovers_by_old_install ON seat_takeovers (from_install_id, license_id, taken_over_at);
CREATE INDEX seat_takeovers_by_new_install ON seat_takeovers (to_install_id);

-- Fingerprints that two machines share: they take no seat over on this license any more.
CREATE TABLE cloned_fingerprints (
    license_id TEXT NOT NULL REFERENCES licenses (id),
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    noticed_at INTEGER NOT NULL,
    PRIMARY KEY (license_id, fingerprint)
) STRICT, WITHOUT ROWID;

-- One row a plan, with its features as codes parted by blanks: the columns that a plan is read from, spelled out once.
-- plan_meters comes with 0006: a view is not looked into before it is read.
CREATE VIEW plan_facts AS
SELECT
    plans.id,
    plans.product_id,
    plans.code,
    plans.name,
    plans.type,
    (
        SELECT group_concat(plan_features.feature_code, ' ') FROM plan_features
        WHERE plan_features.plan_id = plans.id
    ) AS features,
    plans.duration,
    plans.seat_limit,
    plans.seat_policy,
    plans.overage_percent,
    plans.idle_before_release,
    plans.lease_seconds,
    plans.expiry_grace,
    plans.expiry_basis,
    plans.offline_life,
    plans.transfer_limit,
    plans.transfer_period,
    plans.self_release,
    plans.environment,
    -- Each as name=limit, or name= for unlimited.
    (
        SELECT group_concat(plan_meters.meter_name || '=' || coalesce(plan_meters.limit_count, ''), ' ') FROM plan_meters
        WHERE plan_meters.plan_id = plans.id
    ) AS meters
FROM plans;

-- One row a license, with its plan and the end of its current key.
CREATE VIEW license_facts AS
SELECT
    licenses.id,
    licenses.product_id,
    licenses.mode,
    licenses.customer_id,
    licenses.standing,
    licenses.standing_reason,
    licenses.created_at,
    licenses.starts_at,
    licenses.expires_at,
    licenses.term_anchor,
    licenses.term_months,
    licenses.pending_duration,
    licenses.maintenance_until,
    licenses.first_activated_at,
    licenses.seat_limit_kind,
    licenses.seat_limit,
    licenses.seat_policy,
    licenses.offline_life,
    licenses.environment,
    licenses.order_id,
    (
        SELECT license_keys.last_four FROM license_keys
        WHERE license_keys.license_id = licenses.id AND license_keys.replaced_at IS NULL
    ) AS key_last_four,
    plan_facts.id AS plan_id,
    plan_facts.product_id AS plan_product_id,
    plan_facts.code AS plan_code,
    plan_facts.name AS plan_name,
    plan_facts.type AS plan_type,
    plan_facts.features AS plan_features,
    plan_facts.duration AS plan_duration,
    plan_facts.seat_limit AS plan_seat_limit,
    plan_facts.seat_policy AS plan_seat_policy,
    plan_facts.overage_percent AS plan_overage_percent,
    plan_facts.idle_before_release AS plan_idle_before_release,
    plan_facts.lease_seconds AS plan_lease_seconds,
    plan_facts.expiry_grace AS plan_expiry_grace,
    plan_facts.expiry_basis AS plan_expiry_basis,
    plan_facts.offline_life AS plan_offline_life,
    plan_facts.transfer_limit AS plan_transfer_limit,
    plan_facts.transfer_period AS plan_transfer_period,
    plan_facts.self_release AS plan_self_release,
    plan_facts.environment AS plan_environment,
    plan_facts.meters AS plan_meters
FROM licenses JOIN plan_facts ON plan_facts.id = licenses.plan_id;
