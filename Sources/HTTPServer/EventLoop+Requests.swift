import SystemPrimitives

/// How bytes become requests, requests answers, and errors too.
extension EventLoop where Context: ~Copyable {
    /// A refused request's body up to this length is read and dropped, to keep the connection.
    private static var skippedBytes: Int { 64 << 10 }
    /// Pipelined requests of one connection that are served before others have their turn.
    private static var turnRequests: Int { 16 }

    // MARK: Input

    /// Uses what arrived: for a body under way, for the requests it completes, and keeps the rest.
    mutating func ingest(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ context: inout Context) {
        var bytes = bytes
        if let pending = slots[slot].body {
            guard let used = feed(bytes, to: pending, slot, &context) else { return }
            bytes = bytes.slice(used..<bytes.count)
            if bytes.isEmpty { return }
        }
        if slots[slot].rest.isEmpty {
            let used = serve(bytes, slot, &context)
            if used < bytes.count { slots[slot].rest = Array(bytes[used...]) }
            return
        }
        slots[slot].rest.append(contentsOf: bytes)
        // Without a line's end there is nothing new to parse, only lengths to check.
        if bytes.firstOffset(of: 0x0A) == nil && slots[slot].rest.count <= settings.options.targetBytes { return }
        serveRest(slot, &context)
    }

    /// Serves requests that waited, as far as they may go now.
    mutating func resume(_ slot: Int, _ context: inout Context) {
        if !slots[slot].rest.isEmpty { serveRest(slot, &context) }
    }

    /// Lets a connection go on with the requests it has sent once all others that wait have had their turn.
    mutating func queue(_ slot: Int) {
        if slots[slot].isQueued { return }
        slots[slot].isQueued = true
        queued.append(token(of: slot))
    }

    /// One turn for each connection that waits for one.
    mutating func takeTurns(_ context: inout Context) {
        if queued.isEmpty { return }
        var due: [UInt64] = []
        swap(&due, &queued)
        for token in due {
            guard let slot = slot(of: token), slots[slot].isQueued else { continue }
            slots[slot].isQueued = false
            resume(slot, &context)
            settle(slot, &context)
        }
    }

    private mutating func serveRest(_ slot: Int, _ context: inout Context) {
        var rest: [UInt8] = []
        swap(&rest, &slots[slot].rest)
        let used = rest.withUnsafeBytes { serve($0, slot, &context) }
        if used == 0 {
            swap(&rest, &slots[slot].rest)
        } else if used < rest.count {
            slots[slot].rest = Array(rest[used...])
        }
    }

    /// Continues a body. `nil` where it took everything, or the request failed.
    private mutating func feed(
        _ bytes: UnsafeRawBufferPointer,
        to pending: PendingBody,
        _ slot: Int,
        _ context: inout Context
    ) -> Int? {
        let used: Int
        do throws(HTTPFailure) {
            used = try pending.decoder.decode(bytes, into: &pending.content)
        } catch {
            release(slot, body: true)
            if pending.route == nil {
                // The answer is out already; a second one would be read as the next request's.
                slots[slot].phase = .closing
                slots[slot].mayBeSending = true
            } else {
                respond(slot, failure: error, pending.exchange, &context)
            }
            return nil
        }
        if pending.route == nil { pending.content.removeAll(keepingCapacity: true) }
        guard pending.decoder.isComplete else { return nil }
        release(slot, body: true)
        slots[slot].phase = .idle
        if let route = pending.route {
            pending.bytes.withUnsafeBytes { head in
                pending.content.withUnsafeBytes { content in
                    call(
                        route,
                        head,
                        pending.head,
                        content,
                        pending.exchange,
                        pending.parameters,
                        slot,
                        &context
                    )
                }
            }
        }
        return used
    }

    /// Serves the requests at the start of `bytes`, one after the other; returns how many bytes it used.
    private mutating func serve(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ context: inout Context) -> Int {
        var position = 0
        var served = 0
        slots[slot].isHeldBack = false
        while position < bytes.count {
            let phase = slots[slot].phase
            guard phase == .idle || phase == .head else { break }
            guard served < EventLoop.turnRequests else {
                queue(slot)
                break
            }
            // Output of this pass counts too: one read may hold hundreds of requests.
            guard slots[slot].unsent + output.count <= settings.options.outputBytes else {
                slots[slot].isHeldBack = true
                break
            }
            if bytes[position] == 0x0D, position + 1 < bytes.count, bytes[position + 1] == 0x0A {
                position += 2
                continue
            }
            let rest = bytes.slice(position..<bytes.count)
            do throws(HTTPFailure) {
                guard try parser.parse(rest, into: &head) else { break }
            } catch {
                fail(slot, error, &context)
                return bytes.count
            }
            slots[slot].phase = .idle
            position += begin(rest, slot, &context)
            served += 1
        }
        if slots[slot].phase == .closing { return bytes.count }
        return position
    }

    // MARK: One request

    /// Routes the request whose head was just parsed; returns how many of `bytes` belong to it.
    private mutating func begin(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ context: inout Context) -> Int {
        slots[slot].requests &+= 1
        let match = settings.router.table.match(head.method, bytes.slice(head.path))
        var route: Int?
        if case .route(let index, _) = match { route = index }
        let exchange = exchange(bytes, slot, route: route)
        if head.expectsOther { return refuse(bytes, .expectationFailed, exchange, slot, &context) }
        if head.isAsterisk {
            let response = HTTPResponse(.noContent, fields: [HTTPField("Allow", settings.router.table.allMethods)])
            return answer(bytes, response, exchange, slot, &context)
        }
        switch match {
        case .notFound: return refuse(bytes, .notFound, exchange, slot, &context)
        case .methodNotAllowed(let allow):
            if head.method == .options, exchange.origin != nil, head.requestedMethod != nil {
                return answer(bytes, writer.preflightResponse(allow: allow), exchange, slot, &context)
            }
            return refuse(bytes, .methodNotAllowed(allow: allow), exchange, slot, &context)
        case .route(let index, let parameters):
            return begin(index, parameters, bytes, exchange, slot, &context)
        }
    }

    private mutating func begin(
        _ route: Int,
        _ parameters: PathParameters,
        _ bytes: UnsafeRawBufferPointer,
        _ exchange: Exchange,
        _ slot: Int,
        _ context: inout Context
    ) -> Int {
        let head = head
        guard head.hasBody else {
            call(route, bytes, head, UnsafeRawBufferPointer(start: nil, count: 0), exchange, parameters, slot, &context)
            return head.count
        }
        let limit = settings.router.routes[route].bodyLimit ?? settings.options.bodyBytes
        let available = bytes.slice(head.count..<bytes.count)
        if let length = head.contentLength, length <= limit, length <= available.count {
            call(route, bytes, head, available.slice(0..<length), exchange, parameters, slot, &context)
            return head.count + length
        }

        var decoder = BodyDecoder(head, limit: limit)
        content.removeAll(keepingCapacity: true)
        var failure: HTTPFailure?
        var used = 0
        if let length = head.contentLength, length > limit {
            failure = .bodyTooLarge(limit: limit)
        } else {
            do throws(HTTPFailure) {
                used = try decoder.decode(available, into: &content)
            } catch {
                failure = error
            }
        }
        if failure == nil, decoder.isComplete {
            var whole: [UInt8] = []
            swap(&whole, &content)
            whole.withUnsafeBytes {
                call(route, bytes, head, $0, exchange, parameters, slot, &context)
            }
            swap(&whole, &content)
            return head.count + used
        }
        // Not here yet, or not acceptable: the caller's right to send it comes first.
        if let response = refusal(route, bytes, head, exchange, parameters, &context) {
            return answer(bytes, response, exchange, slot, &context)
        }
        if let failure {
            respond(slot, failure: failure, exchange, &context)
            return bytes.count
        }
        if head.expectsContinue && available.isEmpty {
            output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
        }
        hold(
            PendingBody(
                bytes: Array(bytes[..<head.count]),
                head: head,
                exchange: exchange,
                route: route,
                parameters: parameters,
                decoder: decoder,
                content: content
            ),
            slot
        )
        return bytes.count
    }

    private mutating func hold(_ body: PendingBody, _ slot: Int) {
        slots[slot].body = body
        slots[slot].phase = .body
        slots[slot].deadline = deadline(in: settings.options.bodySeconds)
    }

    private mutating func exchange(_ bytes: UnsafeRawBufferPointer, _ slot: Int, route: Int?) -> Exchange {
        let limit = settings.options.requestsPerConnection
        return Exchange(
            outline: RequestOutline(
                route: route.map { settings.router.routes[$0].name },
                method: head.method,
                requestID: RequestIdentifiers.given(bytes, head) ?? identifiers.next(),
                peer: slots[slot].peer
            ),
            keepsAlive: head.allowsKeepAlive && !isStopping && (limit == 0 || Int(slots[slot].requests) < limit),
            minorVersion: head.minorVersion,
            origin: head.origin.flatMap { writer.origin(bytes.slice(head.fields[$0].value)) },
            startedAt: now
        )
    }

    /// What the route's admission has against the request.
    private func refusal(
        _ route: Int,
        _ bytes: UnsafeRawBufferPointer,
        _ head: RequestHead,
        _ exchange: Exchange,
        _ parameters: PathParameters,
        _ context: inout Context
    ) -> HTTPResponse? {
        guard let admit = settings.router.routes[route].admit else { return nil }
        do {
            let request = HTTPRequest(
                RawSpan(_unsafeBytes: bytes),
                head: head,
                body: RawSpan(),
                requestID: exchange.outline.requestID,
                peer: exchange.outline.peer,
                pathParameters: parameters
            )
            try admit(request, &context)
            return nil
        } catch {
            return response(to: error, exchange, &context)
        }
    }

    private mutating func call(
        _ route: Int,
        _ bytes: UnsafeRawBufferPointer,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ exchange: Exchange,
        _ parameters: PathParameters,
        _ slot: Int,
        _ context: inout Context
    ) {
        do {
            let request = HTTPRequest(
                RawSpan(_unsafeBytes: bytes),
                head: head,
                body: RawSpan(_unsafeBytes: body),
                requestID: exchange.outline.requestID,
                peer: exchange.outline.peer,
                pathParameters: parameters
            )
            switch try settings.router.routes[route].handler(request, &context) {
            case .reply(let response): respond(slot, response, exchange, &context)
            case .job(let job):
                slots[slot].job = PendingJob(exchange)
                slots[slot].phase = .waiting
                let ticket = Ticket(
                    loop: UInt32(index),
                    slot: UInt32(slot),
                    generation: slots[slot].generation
                )
                submissions.append(Submission(ticket: ticket, job: job))
            }
        } catch {
            respond(slot, response(to: error, exchange, &context), exchange, &context)
        }
    }

    /// Renders a finished job and goes on with what the connection has sent meanwhile.
    mutating func finish(_ answer: Answer<Context>, _ context: inout Context) {
        let slot = Int(answer.ticket.slot)
        guard slots[slot].generation == answer.ticket.generation, let exchange = slots[slot].job?.exchange else {
            return
        }
        slots[slot].job = nil
        slots[slot].phase = .idle
        let rendered: HTTPResponse
        do {
            rendered = try answer.result.get()(&context)
        } catch {
            rendered = response(to: error, exchange, &context)
        }
        respond(slot, rendered, exchange, &context)
        if slots[slot].phase == .idle { resume(slot, &context) }
        settle(slot, &context)
    }

    // MARK: Answers

    /// Answers a request whose body may be unread: skips a short one, gives up the connection for a long one.
    private mutating func answer(
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

    private mutating func refuse(
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

    private mutating func respond(
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
