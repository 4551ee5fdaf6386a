"""The reference implementation of Themis through the package pythemis: the other side of the live tests.

Reads one JSON object with lists of jobs from standard input and writes their results, in order. Needs the
native library libthemis, which pythemis loads when it is imported.
"""

import json
import sys

from pythemis.scell import SCellContextImprint, SCellSeal, SCellTokenProtect
from pythemis.skeygen import GenerateKeyPair, KEY_PAIR_TYPE
from pythemis.smessage import SMessage, ssign, sverify


def data(job, name):
    value = job.get(name)
    return None if value is None else bytes.fromhex(value)


def seal(job):
    cell = SCellSeal(passphrase=data(job, "passphrase")) if "passphrase" in job else SCellSeal(key=data(job, "key"))
    return cell.encrypt(data(job, "plaintext"), data(job, "context")).hex()


def open_(job):
    cell = SCellSeal(passphrase=data(job, "passphrase")) if "passphrase" in job else SCellSeal(key=data(job, "key"))
    return cell.decrypt(data(job, "cell"), data(job, "context")).hex()


def protect(job):
    ciphertext, token = SCellTokenProtect(key=data(job, "key")).encrypt(data(job, "plaintext"), data(job, "context"))
    return {"token": token.hex(), "ciphertext": ciphertext.hex()}


def unprotect(job):
    cell = SCellTokenProtect(key=data(job, "key"))
    return cell.decrypt(data(job, "ciphertext"), data(job, "token"), data(job, "context")).hex()


def imprint(job):
    return SCellContextImprint(key=data(job, "key")).encrypt(data(job, "plaintext"), data(job, "context")).hex()


def make_keys(job):
    pair = GenerateKeyPair(KEY_PAIR_TYPE.EC)
    return {"private": pair.export_private_key().hex(), "public": pair.export_public_key().hex()}


def encrypt(job):
    return SMessage(data(job, "private"), data(job, "public")).wrap(data(job, "plaintext")).hex()


def decrypt(job):
    return SMessage(data(job, "private"), data(job, "public")).unwrap(data(job, "message")).hex()


def sign(job):
    return ssign(data(job, "private"), data(job, "message")).hex()


def verify(job):
    return sverify(data(job, "public"), data(job, "signed")).hex()


WORK = {"seal": seal, "open": open_, "protect": protect, "unprotect": unprotect, "imprint": imprint,
        "make_keys": make_keys, "encrypt": encrypt, "decrypt": decrypt, "sign": sign, "verify": verify}
jobs = json.load(sys.stdin)
json.dump({name: [WORK[name](job) for job in jobs.get(name, [])] for name in WORK}, sys.stdout)
