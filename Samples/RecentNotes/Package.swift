// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RecentNotes",
    dependencies: [.package(name: "coffret", path: "../..")],
    targets: [
        .executableTarget(name: "RecentNotes", dependencies: [.product(name: "CoffretKit", package: "coffret")])
    ]
)
