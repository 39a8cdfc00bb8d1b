import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// What the server says about itself.
enum ServerRoutes {
    /// `GET /health`: the process answers.
    static func health(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        .reply(.json(.ok, healthBody))
    }

    /// Made once: this is what a load balancer asks all day.
    private static let healthBody = Array(#"{"status":"ok"}"#.utf8)

    /// `GET /ready`: whether decisions can be made and written down, by the writer's last commit or its own probe.
    static func ready(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let clock = context.services.clock
        _ = try context.reader.snapshot { db in try clock.now(in: db) }
        let shared = context.shared
        let status = shared.queue.status(probingAfter: .seconds(1))
        guard status.isReady else {
            let reason =
                status.trouble?.message ?? (status.hasStopped ? "the writer has stopped" : "nothing was written yet")
            throw StorageError(.unavailable, "not ready: \(reason)")
        }
        var json = JSONWriter()
        json.object { json in
            json.member("status", "ready")
            json.member("warnings", list: status.isLogLarge ? ["wal_large"] : []) { $1.value($0) }
        }
        return .reply(.json(.ok, json.finish()))
    }

    /// `GET /v1/openapi.json`: how all of this is called.
    static func interface(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        .reply(.json(.ok, context.shared.interface))
    }

    /// `GET /`: what this is.
    static func root(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let base = context.shared.baseURL ?? ""
        var json = JSONWriter()
        json.object { json in
            json.member("name", "Countersign")
            json.member("description", "A licensing server: it signs what an app's user may do.")
            json.member("links") { json in
                json.object { json in
                    json.member("api", "\(base)/v1")
                    json.member("health", "\(base)/health")
                    json.member("ready", "\(base)/ready")
                    json.member("openapi", "\(base)/v1/openapi.json")
                }
            }
        }
        return .reply(.json(.ok, json.finish()))
    }
}
