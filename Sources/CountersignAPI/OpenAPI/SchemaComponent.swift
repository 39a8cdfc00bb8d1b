/// The schemas that have names; a reference to one that does not exist does not compile.
enum SchemaComponent: String, CaseIterable, Sendable {
    case problem = "Problem"
    case invalidMember = "InvalidMember"
    case device = "Device"
    case bundle = "Bundle"
    case license = "License"
    case activation = "Activation"
    case seats = "Seats"
    case seatRow = "SeatRow"
    case entitlement = "Entitlement"
    case purchase = "Purchase"
    case meterAmount = "MeterAmount"
    case meterReport = "MeterReport"
    case publicKey = "PublicKey"
    case environmentRule = "EnvironmentRule"
    case administeredSeat = "AdministeredSeat"
    case administeredLicense = "AdministeredLicense"

    case activateRequest = "ActivateRequest"
    case validateRequest = "ValidateRequest"
    case deactivateRequest = "DeactivateRequest"
    case heartbeatRequest = "HeartbeatRequest"
    case seatsRequest = "SeatsRequest"
    case trialRequest = "TrialRequest"
    case syncRequest = "SyncRequest"
    case verifyRequest = "VerifyRequest"
    case notificationRequest = "NotificationRequest"
    case peekRequest = "PeekRequest"
    case consumeRequest = "ConsumeRequest"
    case issueRequest = "IssueRequest"
    case suspendRequest = "SuspendRequest"
    case reinstateRequest = "ReinstateRequest"
    case revokeRequest = "RevokeRequest"
    case renewRequest = "RenewRequest"
    case reissueRequest = "ReissueRequest"
    case releaseSeatRequest = "ReleaseSeatRequest"

    case activateAnswer = "ActivateAnswer"
    case validateAnswer = "ValidateAnswer"
    case deactivateAnswer = "DeactivateAnswer"
    case heartbeatAnswer = "HeartbeatAnswer"
    case seatsAnswer = "SeatsAnswer"
    case trialAnswer = "TrialAnswer"
    case syncAnswer = "SyncAnswer"
    case verifyAnswer = "VerifyAnswer"
    case notificationAnswer = "NotificationAnswer"
    case metersAnswer = "MetersAnswer"
    case configurationAnswer = "ConfigurationAnswer"
    case keysAnswer = "KeysAnswer"
    case licenseAnswer = "LicenseAnswer"
    case licensesAnswer = "LicensesAnswer"
    case licensePage = "LicensePage"
    case releaseSeatAnswer = "ReleaseSeatAnswer"
    case rootAnswer = "RootAnswer"
    case healthAnswer = "HealthAnswer"
    case readyAnswer = "ReadyAnswer"
    case interfaceAnswer = "InterfaceAnswer"

    /// What the name stands for.
    var schema: Schema {
        switch self {
        case .problem: .problem
        case .invalidMember: .invalidMember
        case .device: .device
        case .bundle: .bundle
        case .license: .license
        case .activation: .activation
        case .seats: .seats
        case .seatRow: .seatRow
        case .entitlement: .entitlement
        case .purchase: .purchase
        case .meterAmount: .meterAmount
        case .meterReport: .meterReport
        case .publicKey: .publicKey
        case .environmentRule: .environmentRule
        case .administeredSeat: .administeredSeat
        case .administeredLicense: .administeredLicense
        case .activateRequest: .activateRequest
        case .validateRequest: .validateRequest
        case .deactivateRequest, .heartbeatRequest, .seatsRequest: .keyRequest
        case .trialRequest: .trialRequest
        case .syncRequest: .syncRequest
        case .verifyRequest: .verifyRequest
        case .notificationRequest: .notificationRequest
        case .peekRequest: .peekRequest
        case .consumeRequest: .consumeRequest
        case .issueRequest: .issueRequest
        case .suspendRequest, .revokeRequest: .reasonRequest
        case .reinstateRequest: .reinstateRequest
        case .renewRequest: .renewRequest
        case .reissueRequest: .reissueRequest
        case .releaseSeatRequest: .releaseSeatRequest
        case .activateAnswer: .activateAnswer
        case .validateAnswer: .validateAnswer
        case .deactivateAnswer: .deactivateAnswer
        case .heartbeatAnswer: .heartbeatAnswer
        case .seatsAnswer: .seatsAnswer
        case .trialAnswer: .trialAnswer
        case .syncAnswer: .syncAnswer
        case .verifyAnswer: .verifyAnswer
        case .notificationAnswer: .notificationAnswer
        case .metersAnswer: .metersAnswer
        case .configurationAnswer: .configurationAnswer
        case .keysAnswer: .keysAnswer
        case .licenseAnswer: .licenseAnswer
        case .licensesAnswer: .licensesAnswer
        case .licensePage: .licensePage
        case .releaseSeatAnswer: .releaseSeatAnswer
        case .rootAnswer: .rootAnswer
        case .healthAnswer: .healthAnswer
        case .readyAnswer: .readyAnswer
        case .interfaceAnswer: .interfaceAnswer
        }
    }
}
