/// One connection of a loop, in the loop's table: small, since most are idle.
struct Slot {
    enum Phase: UInt8 {
        /// No connection.
        case free
        /// Between requests; nothing of the next has come.
        case idle
        /// Part of a head has come.
        case head
        /// Part of a body has come.
        case body
        /// A job is under way.
        case waiting
        /// Ends once the output is sent.
        case closing
        /// All is sent and said; reads on for a moment, so that the client can read the answer before a reset.
        case draining
    }

    var descriptor: Int32 = -1
    /// Counts the connections that had this place: an event or an answer for another one is dropped.
    var generation: UInt32 = 0
    /// In ticks of the loop; 0 for none.
    var deadline: UInt32 = 0
    /// What the client must read of `output`, and by when. What it sends is no reading.
    var due = ReadingDue()
    /// The tick since which it is idle.
    var idleSince: UInt32 = 0
    /// The tick in which the first byte of its request came; means nothing between requests.
    var askingSince: UInt32 = 0
    /// Memory of unfinished input and of unsent output, as the loop has counted it.
    var heldInput: UInt32 = 0
    var heldOutput: UInt32 = 0
    /// How much of `output` is sent; while draining, how much was thrown away.
    var written: UInt32 = 0
    /// Requests so far.
    var requests: UInt32 = 0
    var phase = Phase.free
    var interest: Interest = []
    /// Whether the client may still be sending when the connection ends.
    var mayBeSending = false
    /// Whether the connection counts toward its address's limit.
    var isCounted = false
    /// Whether requests in `rest` wait for the client to read.
    var isHeldBack = false
    /// Whether requests in `rest` wait for the connection's next turn.
    var isQueued = false
    var peer = PeerAddress(high: 0, low: 0)
    /// Bytes that came and are not used yet.
    var rest: [UInt8] = []
    /// Bytes the socket did not take yet.
    var output: [UInt8] = []
    var body: PendingBody?
    var job: PendingJob?

    var unsent: Int { output.count - Int(written) }
}

/// What a slow client must read, so that memory is held for it any longer: a byte now and then is not enough.
struct ReadingDue: Sendable, Equatable {
    /// What a client must read on average; slower is as good as not at all.
    static let leastBytesPerSecond = 1024

    /// When the due must have been read, in ticks of the loop; 0 where nothing waits, or where there is no limit.
    private(set) var deadline: UInt32 = 0
    /// The place among all dues of the loop: who is the last to have begun one is the last to give way.
    private(set) var order: UInt32 = 0
    /// How much was read of it.
    private var bytes: UInt32 = 0

    /// Nothing is due.
    init() {}

    /// From here on the client has until `deadline`.
    init(by deadline: UInt32, order: UInt32) {
        self.deadline = deadline
        self.order = order
    }

    /// The client has read more; whether that was its due for so many seconds, so that the next one begins.
    mutating func isPaid(by count: Int, for seconds: Int) -> Bool {
        bytes += UInt32(clamping: count)
        return Int(bytes) >= seconds * Self.leastBytesPerSecond
    }
}

/// A request whose body is not complete.
final class PendingBody {
    let bytes: [UInt8]
    let head: RequestHead
    let exchange: Exchange
    /// The route that will get it; `nil` where the answer is out and the body is only to be skipped.
    let route: Int?
    let parameters: PathParameters
    var decoder: BodyDecoder
    var content: [UInt8]

    init(
        bytes: [UInt8],
        head: RequestHead,
        exchange: Exchange,
        route: Int?,
        parameters: PathParameters,
        decoder: BodyDecoder,
        content: [UInt8]
    ) {
        self.bytes = bytes
        self.head = head
        self.exchange = exchange
        self.route = route
        self.parameters = parameters
        self.decoder = decoder
        self.content = content
    }
}

/// A request whose answer another thread is working on.
final class PendingJob {
    let exchange: Exchange

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }
}
