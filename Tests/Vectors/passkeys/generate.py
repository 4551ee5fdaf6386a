#!/usr/bin/env python3
"""Prints passkeys.json: fields, and answers to sites, by Python's `cryptography` and `json`, from Spec/passkeys.md alone."""
import base64, hashlib, json, uuid

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


def url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def case(number, site, origin, form):
    scalar = int.from_bytes(hashlib.sha256(b"scalar %d" % number).digest(), "big") % (2**256 - 2**225)
    key = ec.derive_private_key(scalar, ec.SECP256R1())
    point = key.public_key().public_numbers()
    x, y = (value.to_bytes(32, "big") for value in (point.x, point.y))
    identity = hashlib.sha256(b"id %d" % number).digest()[: 16 if form == "bitwarden" else 32]
    handle = hashlib.sha256(b"handle %d" % number).digest()[: 8 + number]
    challenge = hashlib.sha256(b"challenge %d" % number).digest()
    private = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    if form == "keepassxc":
        field = {
            "KPEX_PASSKEY_CREDENTIAL_ID": url(identity),
            "KPEX_PASSKEY_PRIVATE_KEY_PEM": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            "KPEX_PASSKEY_RELYING_PARTY": site, "KPEX_PASSKEY_USERNAME": "mira", "KPEX_PASSKEY_USER_HANDLE": url(handle)}
    else:
        name = str(uuid.UUID(bytes=identity)) if form == "bitwarden" else "b64." + url(identity)
        field = {
            "credentialId": name, "keyType": "public-key", "keyAlgorithm": "ECDSA", "keyCurve": "P-256", "keyValue": url(private),
            "rpId": site, "userHandle": url(handle), "userName": "mira", "counter": "0", "rpName": "Shop", "userDisplayName": "Mira",
            "discoverable": "true", "creationDate": "2026-05-03T10:00:00.000Z"}
    data = hashlib.sha256(site.encode()).digest() + bytes([0x1D, 0, 0, 0, 0])
    cose = b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + x + b"\x22\x58\x20" + y
    created = data[:32] + bytes([0x5D, 0, 0, 0, 0]) + bytes(16) + len(identity).to_bytes(2, "big") + identity + cose
    attestation = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(created)]) + created
    client = {kind: f'{{"type":"webauthn.{kind}","challenge":"{url(challenge)}","origin":"{origin}","crossOrigin":false}}' for kind in ("create", "get")}
    signature = key.sign(data + hashlib.sha256(client["get"].encode()).digest(), ec.ECDSA(hashes.SHA256()))
    return {
        "field": json.dumps(field, separators=(",", ":")), "site": site, "origin": origin, "credentialID": identity.hex(), "userHandle": handle.hex(),
        "challenge": challenge.hex(), "clientDataCreate": client["create"], "clientDataGet": client["get"], "authenticatorData": data.hex(),
        "createdData": created.hex(), "attestation": attestation.hex(),
        "publicKey": key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo).hex(), "signature": signature.hex()}


print(json.dumps({"cases": [
    case(1, "shop.example", "https://login.shop.example", "bitwarden"),
    case(2, "localhost", "http://localhost:8080", "bitwarden"),
    case(3, "garden.example", "https://garden.example:8443", "b64"),
    case(4, "a.example", "https://a.example", "keepassxc"),
]}, indent=1))
