-- Features and meters as plans, gifts, spend tiers and stores refer to them. One that its product does not have, or that
-- would not be one word among others, reads as "?", which is no code: rows that are damaged make nothing that is signed.
CREATE VIEW plan_codes AS
SELECT
    plan_features.plan_id,
    coalesce(features.code, '?') AS code
FROM plan_features
LEFT JOIN features
    ON features.product_id = plan_features.product_id AND features.code = plan_features.feature_code
        AND features.code <> '' AND instr(features.code, ' ') = 0;

CREATE VIEW plan_limits AS
SELECT
    plan_meters.plan_id,
    coalesce(meters.name, '?') AS name,
    plan_meters.limit_count
FROM plan_meters
LEFT JOIN meters
    ON meters.product_id = plan_meters.product_id AND meters.name = plan_meters.meter_name
        AND meters.name <> '' AND instr(meters.name, ' ') = 0 AND instr(meters.name, '=') = 0;

CREATE VIEW gift_codes AS
SELECT
    gift_features.gift_id,
    coalesce(features.code, '?') AS code
FROM gift_features
LEFT JOIN features
    ON features.product_id = gift_features.product_id AND features.code = gift_features.feature_code
        AND features.code <> '' AND instr(features.code, ' ') = 0;

CREATE VIEW spend_tier_codes AS
SELECT
    spend_tier_features.tier_id,
    coalesce(features.code, '?') AS code
FROM spend_tier_features
LEFT JOIN features
    ON features.product_id = spend_tier_features.product_id AND features.code = spend_tier_features.feature_code
        AND features.code <> '' AND instr(features.code, ' ') = 0;

CREATE VIEW store_product_codes AS
SELECT
    store_product_features.connection_id,
    store_product_features.store_product_id,
    coalesce(features.code, '?') AS code
FROM store_product_features
LEFT JOIN features
    ON features.product_id = store_product_features.product_id AND features.code = store_product_features.feature_code
        AND features.code <> '' AND instr(features.code, ' ') = 0;

CREATE VIEW grandfathered_codes AS
SELECT
    grandfathered_features.connection_id,
    coalesce(features.code, '?') AS code
FROM grandfathered_features
LEFT JOIN features
    ON features.product_id = grandfathered_features.product_id AND features.code = grandfathered_features.feature_code
        AND features.code <> '' AND instr(features.code, ' ') = 0;

DROP VIEW plan_facts;

-- One row a plan, with its features as codes parted by blanks: the columns that a plan is read from, spelled out once.
CREATE VIEW plan_facts AS
SELECT
    plans.id,
    plans.product_id,
    plans.code,
    plans.name,
    plans.type,
    (
        SELECT group_concat(plan_codes.code, ' ') FROM plan_codes
        WHERE plan_codes.plan_id = plans.id
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
        SELECT group_concat(plan_limits.name || '=' || coalesce(plan_limits.limit_count, ''), ' ') FROM plan_limits
        WHERE plan_limits.plan_id = plans.id
    ) AS meters
FROM plans;
