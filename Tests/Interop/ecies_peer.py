"""Apple's ECIES, ECDSA and key files with the package cryptography: the other side of the live tests.

Reads one JSON object with lists of jobs from standard input and writes their results, in order.
"""

import json
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.x963kdf import X963KDF

CURVES = {65: ec.SECP256R1(), 97: ec.SECP384R1(), 133: ec.SECP521R1()}
HASHES = {"SHA1": hashes.SHA1, "SHA224": hashes.SHA224, "SHA256": hashes.SHA256,
          "SHA384": hashes.SHA384, "SHA512": hashes.SHA512}


def hash_of(algorithm):
    return next(make() for name, make in HASHES.items() if name in algorithm)


def point(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def key_and_nonce(algorithm, secret, shared_info, curve):
    size = 16 if curve.key_size <= 256 else 32
    length = size + (16 if "VariableIV" in algorithm else 0)
    material = X963KDF(hash_of(algorithm), length, shared_info).derive(secret)
    return material[:size], material[size:] or bytes(16)


def seal(job):
    encoded = bytes.fromhex(job["public_hex"])
    recipient = ec.EllipticCurvePublicKey.from_encoded_point(CURVES[len(encoded)], encoded)
    ephemeral = ec.generate_private_key(recipient.curve)
    sent = point(ephemeral.public_key())
    key, nonce = key_and_nonce(
        job["algorithm"], ephemeral.exchange(ec.ECDH(), recipient), sent, recipient.curve)
    return (sent + AESGCM(key).encrypt(nonce, bytes.fromhex(job["plaintext_hex"]), None)).hex()


def open_(job):
    private = serialization.load_pem_private_key(job["private_pem"].encode(), None)
    message = bytes.fromhex(job["message_hex"])
    size = 1 + 2 * ((private.curve.key_size + 7) // 8)
    sender = ec.EllipticCurvePublicKey.from_encoded_point(private.curve, message[:size])
    key, nonce = key_and_nonce(
        job["algorithm"], private.exchange(ec.ECDH(), sender), message[:size], private.curve)
    return AESGCM(key).decrypt(nonce, message[size:], None).hex()


def sign(job):
    private = serialization.load_pem_private_key(job["private_pem"].encode(), None)
    return private.sign(bytes.fromhex(job["data_hex"]), ec.ECDSA(hash_of(job["algorithm"]))).hex()


def verify(job):
    public = serialization.load_pem_public_key(job["public_pem"].encode())
    algorithm = hash_of(job["algorithm"])
    if "Digest" in job["algorithm"]:
        algorithm = Prehashed(algorithm)
    public.verify(bytes.fromhex(job["signature_hex"]), bytes.fromhex(job["data_hex"]), ec.ECDSA(algorithm))
    return "valid"


def make_keys(job):
    """Private keys in every form that OpenSSL writes, for us to read."""
    private = ec.generate_private_key(CURVES[job["point_bytes"]])
    none = serialization.NoEncryption()
    return {
        "public_hex": point(private.public_key()).hex(),
        "pkcs8": private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none).decode(),
        "sec1": private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, none).decode(),
        "spki": private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode(),
    }


WORK = {"seal": seal, "open": open_, "sign": sign, "verify": verify, "make_keys": make_keys}
jobs = json.load(sys.stdin)
json.dump({name: [WORK[name](job) for job in jobs.get(name, [])] for name in WORK}, sys.stdout)
