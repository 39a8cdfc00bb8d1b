import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Who may administer what over HTTP") struct AdministrationAccessTests {
    private let path = "/v1/admin/licenses"

    @Test("another's license, product or mode is not there, and nothing tells it from one that never was")
    func enumeration() throws {
        var api = try TestAPI.open()
        let foreign = try api.sell(api.catalog.foreign)
        let test = try api.sell(mode: .test)
        let viewer = try api.sell(api.catalog.viewer)
        let body = #"{"reason":"x"}"#

        for id in [foreign.id.text, test.id.text, "lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E"] {
            let shown = api.admin("GET", "\(path)/\(id)")
            let revoked = api.admin("POST", "\(path)/\(id)/revoke", body)
            for answer in [shown, revoked] {
                #expect(answer.status == 404 && answer.code == "LICENSE_NOT_FOUND")
                #expect(answer["detail"]?.string == "there is no such license")
            }
        }
        let ofProduct = api.admin("GET", "\(path)/\(viewer.id)", token: api.catalog.productSecretToken)
        #expect(ofProduct.status == 404)
        let listed = api.admin("GET", path)
        #expect(listed["licenses"]?.elements?.compactMap { $0["id"]?.string } == [viewer.id.text])
        let other = api.admin("POST", path, #"{"product":"globex/editor","plan":"p"}"#)
        #expect(other.status == 404 && other.code == "PRODUCT_NOT_FOUND")
        let noPlan = api.admin("POST", path, #"{"product":"acme/editor","plan":"p"}"#)
        #expect(noPlan.status == 404 && noPlan.code == "PLAN_NOT_FOUND")
    }

    @Test("a product's credential implies the product, and may name no other; nor may any name another mode")
    func productCredential() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        let token = api.catalog.productSecretToken

        #expect(api.admin("POST", path, #"{"plan":"\#(plan)"}"#, token: token).status == 200)
        let other = api.admin("POST", path, #"{"product":"acme/viewer","plan":"p"}"#, token: token)
        #expect(other.status == 403 && other.code == "FORBIDDEN")
        let mode = api.admin("POST", path, #"{"plan":"\#(plan)","mode":"test"}"#, token: token)
        #expect(mode.status == 403 && mode.code == "FORBIDDEN")
    }

    @Test("an app's credential, or none, opens nothing")
    func credentials() throws {
        var api = try TestAPI.open()

        let app = api.admin("GET", path, token: api.catalog.appToken)
        let none = api.send(request("GET", path, token: nil))
        let wrong = api.admin("GET", path, token: "sk_live_wrong")

        #expect(app.status == 403 && app.code == "FORBIDDEN")
        #expect(none.status == 401 && wrong.status == 401)
    }

    @Test("an order that two products have needs the product")
    func ambiguous() throws {
        var api = try TestAPI.open()
        for product in ["editor", "viewer"] {
            let plan = try api.plan(product == "editor" ? nil : api.catalog.viewer)
            let body = #"{"product":"acme/\#(product)","plan":"\#(plan)","order_id":"o-1"}"#
            #expect(api.admin("POST", path, body).status == 200)
        }

        let both = api.admin("GET", "\(path)/o-1")
        let one = api.admin("GET", "\(path)/o-1?product=acme/viewer")

        #expect(both.status == 409 && both.code == "AMBIGUOUS")
        #expect(one["license", "product"]?.string == "acme/viewer")
    }
}
