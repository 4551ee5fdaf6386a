// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "ImportBookmarks",
    dependencies: [.package(name: "coffret", path: "../..")],
    targets: [
        .executableTarget(name: "ImportBookmarks", dependencies: [.product(name: "CoffretKit", package: "coffret")])
    ]
)
