// The browser's extension, as its host and its installation know it.

/// Names of the extension and its host. Spec: Spec/bridge.md section 1.
package enum BrowserExtension {
    package static let hostName = "org.coffret.bridge"
    /// Its id in Chromium: it follows from the key in the extension's manifest.
    package static let chromiumOrigin = "chrome-extension://fgabjjnefddlgchemaiinbapmkfohaoa/"
    /// Its id in Firefox.
    package static let firefoxID = "coffret@coffret.example"
}
