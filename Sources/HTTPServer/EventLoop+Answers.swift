import SystemPrimitives

/// How answers, and errors, become bytes.
extension EventLoop where Context: ~Copyable {
    /// A refused request's body up to this length is read and dropped, to keep the connection.
    private static var skippedBytes: Int { 64 << 10 }

    /// Answers a request whose body may be unread: skips a short one, gives up the connection for a long one.
    mutating func answer(
        _ bytes: UnsafeRawBufferPointer,
        _ response: HTTPResponse,
        _ exchange: Exchange,
        _ slot: Int,
        _ context: inout Context
    ) -> Int {
        var exchange = exchange
        var decoder = BodyDecoder(head, limit: EventLoop.skippedBytes)
        var used = 0
        content.removeAll(keepingCapacity: true)
        do throws(HTTPFailure) {
            if let length = head.contentLength, length > EventLoop.skippedBytes {
                throw .bodyTooLarge(limit: EventLoop.skippedBytes)
            }
            used = try decoder.decode(bytes.slice(head.count..<bytes.count), into: &content)
            // A client told 401 in place of 100 may or may not send its body: nothing after this could be trusted.
            if !decoder.isComplete && head.expectsContinue { exchange.keepsAlive = false }
        } catch {
            exchange.keepsAlive = false
        }
        respond(slot, response, exchange, &context)
        guard slots[slot].phase == .idle, !decoder.isComplete else { return head.count + used }
        hold(
            PendingBody(
                bytes: [],
                head: RequestHead(),
                exchange: exchange,
                route: nil,
                parameters: PathParameters(),
                decoder: decoder,
                content: []
            ),
            slot
        )
        return bytes.count
    }

    mutating func refuse(
        _ bytes: UnsafeRawBufferPointer,
        _ failure: HTTPFailure,
        _ exchange: Exchange,
        _ slot: Int,
        _ context: inout Context
    ) -> Int {
        answer(bytes, response(to: failure, exchange, &context), exchange, slot, &context)
    }

    /// Answers bytes that are no request.
    mutating func fail(_ slot: Int, _ failure: HTTPFailure, _ context: inout Context) {
        slots[slot].requests &+= 1
        let exchange = Exchange(
            outline: RequestOutline(
                route: nil,
                method: .unknown,
                requestID: identifiers.next(),
                peer: slots[slot].peer
            ),
            keepsAlive: false,
            minorVersion: 1,
            origin: nil,
            startedAt: now
        )
        respond(slot, failure: failure, exchange, &context)
    }

    mutating func respond(_ slot: Int, failure: HTTPFailure, _ exchange: Exchange, _ context: inout Context) {
        var exchange = exchange
        if failure.closesConnection { exchange.keepsAlive = false }
        respond(slot, response(to: failure, exchange, &context), exchange, &context)
    }

    mutating func respond(
        _ slot: Int,
        _ response: HTTPResponse,
        _ exchange: Exchange,
        _ context: inout Context
    ) {
        var exchange = exchange
        if response.closesConnection || isStopping { exchange.keepsAlive = false }
        append(response, exchange, &context)
        if exchange.keepsAlive {
            slots[slot].phase = .idle
        } else {
            slots[slot].phase = .closing
            release(slot, rest: true)
            slots[slot].mayBeSending = true
        }
    }

    /// The context's words for an error; the status and the fields it demands are ours.
    func response(to error: any Error, _ exchange: Exchange, _ context: inout Context) -> HTTPResponse {
        var response = context.response(to: error, for: exchange.outline)
        guard let failure = error as? HTTPFailure else { return response }
        response.status = failure.status
        if failure.closesConnection { response.closesConnection = true }
        if let field = failure.requiredField, response.field(field.name) == nil { response.fields.append(field) }
        return response
    }

    mutating func append(_ response: HTTPResponse, _ exchange: Exchange, _ context: inout Context) {
        let start = output.count
        writer.append(response, for: exchange, to: &output)
        context.didRespond(
            RequestSummary(
                request: exchange.outline,
                status: response.status,
                microseconds: Int((MonotonicClock.nanoseconds() &- exchange.startedAt) / 1000),
                responseBytes: output.count - start
            )
        )
    }
}
