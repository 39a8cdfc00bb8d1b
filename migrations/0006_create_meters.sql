-- What is counted: the meters of products, what plans raise their limits to, and the counts.
CREATE TABLE meters (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    name TEXT NOT NULL,
    -- NULL: unlimited.
    limit_count INTEGER CHECK (limit_count >= 0),
    -- lifetime, day, month, year, or the ISO 8601 length of a rolling window.
    period TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('install', 'license', 'customer')),
    created_at INTEGER NOT NULL,
    UNIQUE (product_id, name)
) STRICT;

CREATE TABLE plan_meters (
    plan_id TEXT NOT NULL REFERENCES plans (id),
    meter_name TEXT NOT NULL,
    product_id TEXT NOT NULL,
    -- NULL: unlimited.
    limit_count INTEGER CHECK (limit_count >= 0),
    PRIMARY KEY (plan_id, meter_name),
    FOREIGN KEY (product_id, meter_name) REFERENCES meters (product_id, name)
) STRICT, WITHOUT ROWID;

-- One row a meter, mode and subject: the window that was counted in last. A row whose window is over counts as none.
CREATE TABLE meter_usage (
    meter_id TEXT NOT NULL REFERENCES meters (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    -- The id of an install, a license or a customer.
    subject TEXT NOT NULL,
    window_start INTEGER NOT NULL,
    used INTEGER NOT NULL CHECK (used >= 0),
    install_id TEXT REFERENCES installs (id)
        GENERATED ALWAYS AS (CASE WHEN subject GLOB 'ins_*' THEN subject END) STORED,
    license_id TEXT REFERENCES licenses (id)
        GENERATED ALWAYS AS (CASE WHEN subject GLOB 'lic_*' THEN subject END) STORED,
    customer_id TEXT REFERENCES customers (id)
        GENERATED ALWAYS AS (CASE WHEN subject GLOB 'cus_*' THEN subject END) STORED,
    PRIMARY KEY (meter_id, mode, subject),
    CHECK (coalesce(install_id, license_id, customer_id) IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX meter_usage_by_install ON meter_usage (install_id) WHERE install_id IS NOT NULL;
