import SystemPrimitives

/// How one request finds its route, its body and its handler.
extension EventLoop where Context: ~Copyable {
    /// Routes the request whose head was just parsed; returns how many of `bytes` belong to it.
    mutating func begin(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ context: inout Context) -> Int {
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
                // A copy of this length: the loop's own buffer may be as long as the longest body that ever came.
                content: content.withUnsafeBytes { Array($0) }
            ),
            slot
        )
        return bytes.count
    }

    mutating func hold(_ body: PendingBody, _ slot: Int) {
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

    mutating func call(
        _ route: Int,
        _ bytes: UnsafeRawBufferPointer,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ exchange: Exchange,
        _ parameters: PathParameters,
        _ slot: Int,
        _ context: inout Context,
        wasAdmitted: Bool = false
    ) {
        do {
            let request = HTTPRequest(
                RawSpan(_unsafeBytes: bytes),
                head: head,
                body: RawSpan(_unsafeBytes: body),
                requestID: exchange.outline.requestID,
                peer: exchange.outline.peer,
                pathParameters: parameters,
                wasAdmitted: wasAdmitted
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
}
