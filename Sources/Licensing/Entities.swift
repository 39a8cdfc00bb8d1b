// Kinds of things whose identifiers are known here although their values belong to other targets.

/// Names a store purchase.
public enum PurchaseEntity: IdentifiedEntity {
    /// `pur_`
    public static let identifierPrefix = "pur_"
}

/// Names a gift.
public enum GiftEntity: IdentifiedEntity {
    /// `gft_`
    public static let identifierPrefix = "gft_"
}

/// Names a trial of one install or machine.
public enum TrialEntity: IdentifiedEntity {
    /// `trl_`
    public static let identifierPrefix = "trl_"
}

/// Names a product's connection to a store.
public enum StoreConnectionEntity: IdentifiedEntity {
    /// `con_`
    public static let identifierPrefix = "con_"
}

/// Names a credential; its token is another thing.
public enum CredentialEntity: IdentifiedEntity {
    /// `crd_`
    public static let identifierPrefix = "crd_"
}

/// Names the row of a signing key; the key itself is named by its `kid`.
public enum SigningKeyEntity: IdentifiedEntity {
    /// `key_`
    public static let identifierPrefix = "key_"
}

/// Names a meter.
public enum MeterEntity: IdentifiedEntity {
    /// `mtr_`
    public static let identifierPrefix = "mtr_"
}

/// Names an offer.
public enum OfferEntity: IdentifiedEntity {
    /// `ofr_`
    public static let identifierPrefix = "ofr_"
}

/// Names a spend tier.
public enum SpendTierEntity: IdentifiedEntity {
    /// `tir_`
    public static let identifierPrefix = "tir_"
}

/// `pur_…`
public typealias PurchaseID = Identifier<PurchaseEntity>
/// `gft_…`
public typealias GiftID = Identifier<GiftEntity>
/// `trl_…`
public typealias TrialID = Identifier<TrialEntity>
/// `con_…`
public typealias StoreConnectionID = Identifier<StoreConnectionEntity>
/// `crd_…`
public typealias CredentialID = Identifier<CredentialEntity>
/// `key_…`
public typealias SigningKeyID = Identifier<SigningKeyEntity>
/// `mtr_…`
public typealias MeterID = Identifier<MeterEntity>
/// `ofr_…`
public typealias OfferID = Identifier<OfferEntity>
/// `tir_…`
public typealias SpendTierID = Identifier<SpendTierEntity>
