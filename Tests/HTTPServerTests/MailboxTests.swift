import SystemPrimitives
import Testing

@testable import HTTPServer

@Suite("Mail of a loop", .timeLimit(.minutes(30))) struct MailboxTests {
    private func socket() -> [NewConnection] {
        [NewConnection(descriptor: -1, peer: .loopback, isCounted: false)]
    }

    @Test("the wish to end wakes the loop, comes with all that was posted before, and stays")
    func stop() throws {
        let mailbox = try Mailbox<EchoContext>.make(loops: 1)[0]
        var poller = try SystemPoller.open()
        let isWatched = poller.add(mailbox.descriptor, token: 1, for: .read)
        var (answers, connections): ([Answer<EchoContext>], [NewConnection]) = ([], [])
        var sent = socket()
        mailbox.post(&sent)
        #expect(!mailbox.take(&answers, &connections) && connections.count == 1)
        connections = []
        let sleeps = poller.wait(milliseconds: 0)

        sent = socket()
        mailbox.post(&sent)
        mailbox.stop()
        let wakes = poller.wait(milliseconds: 60_000)

        #expect(isWatched && sleeps == 0 && wakes == 1)
        #expect(mailbox.take(&answers, &connections) && connections.count == 1)
        connections = []
        #expect(mailbox.take(&answers, &connections) && connections.isEmpty)
    }

    @Test("of letters and the wish to end none is lost: whatever was not taken wakes the loop again")
    func together() throws {
        for _ in 0..<200 {
            let mailbox = try Mailbox<EchoContext>.make(loops: 1)[0]
            let poster = try Thread.start("poster", with: mailbox) { mailbox in
                for _ in 0..<20 {
                    var sent = [NewConnection(descriptor: -1, peer: .loopback, isCounted: false)]
                    mailbox.post(&sent)
                }
                mailbox.stop()
            }
            var poller = try SystemPoller.open()
            let isWatched = poller.add(mailbox.descriptor, token: 1, for: .read)
            var (answers, connections): ([Answer<EchoContext>], [NewConnection]) = ([], [])
            var (taken, vain) = (0, 0)
            var isStopping = false
            // What was lost wakes nobody; a minute is for a machine that stands still.
            while isWatched && !isStopping && vain < 20 {
                guard poller.wait(milliseconds: 3_000) > 0 else {
                    vain += 1
                    continue
                }
                isStopping = mailbox.take(&answers, &connections)
                taken += connections.count
                connections = []
            }
            poster.join()
            #expect(isStopping && taken == 20)
        }
    }

    @Test("a loop that ends takes what came before, and then no more")
    func end() throws {
        let mailbox = try Mailbox<EchoContext>.make(loops: 1)[0]
        var sent = socket()
        mailbox.post(&sent)
        #expect(sent.isEmpty && !mailbox.end())
        var (answers, connections): ([Answer<EchoContext>], [NewConnection]) = ([], [])
        #expect(!mailbox.take(&answers, &connections) && connections.count == 1)

        #expect(mailbox.end())
        mailbox.post(&connections)
        #expect(connections.count == 1)
    }
}
