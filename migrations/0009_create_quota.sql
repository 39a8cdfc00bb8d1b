-- How many validations each vendor made in each calendar month, for its quota. The running server counts in memory and
-- writes its sums here every few seconds.
CREATE TABLE validation_counts (
    vendor_id TEXT NOT NULL REFERENCES vendors (id),
    -- The first second of the month, UTC, in seconds since 1970.
    month INTEGER NOT NULL,
    validations INTEGER NOT NULL CHECK (validations >= 0),
    PRIMARY KEY (vendor_id, month)
) STRICT, WITHOUT ROWID;
