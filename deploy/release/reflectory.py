#!/usr/bin/env python3
"""Runs Reflectory @VERSION@ on Linux: downloads its archive once, and checks its checksum.

REFLECTORY_URL names where the archive is, if it isn't at the release's address.
"""

import hashlib
import os
import platform
import shutil
import sys
import tarfile
import tempfile
import urllib.request

ARCH, SHA256 = {"Linux x86_64": ("amd64", "@AMD64@"), "Linux aarch64": ("arm64", "@ARM64@")}.get(
    f"{platform.system()} {platform.machine()}", ("", "")
)
ARCHIVE = f"reflectory-@VERSION@-linux-{ARCH}.tar.gz"
URL = os.environ.get("REFLECTORY_URL", "@URL@")
MAX_BYTES = 500 << 20


def program():
    if not SHA256:
        sys.exit(f"reflectory: this release isn't for {platform.system()} on {platform.machine()}")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # The name has the checksum: another release never runs in place of this one.
    home = os.path.join(cache, "reflectory", SHA256)
    if not os.path.isdir(home):
        os.makedirs(os.path.dirname(home), mode=0o700, exist_ok=True)
        new = tempfile.mkdtemp(dir=os.path.dirname(home))
        try:
            download(new)
            os.rename(os.path.join(new, ARCHIVE[: -len(".tar.gz")]), home)
        except OSError:
            if not os.path.isdir(home):  # else another process was faster
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return os.path.join(home, "reflectory")


def download(folder):
    file = os.path.join(folder, ARCHIVE)
    try:
        with urllib.request.urlopen(URL + "/" + ARCHIVE, timeout=60) as answer:
            data = answer.read(MAX_BYTES)
    except OSError as error:
        sys.exit(f"reflectory: can't download {URL}/{ARCHIVE}: {error}")
    got = hashlib.sha256(data).hexdigest()
    if got != SHA256:
        sys.exit(f"reflectory: {URL}/{ARCHIVE} isn't the released file: its SHA-256 is {got}, not {SHA256}")
    with open(file, "wb") as out:
        out.write(data)
    with tarfile.open(file) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.12 and later
        archive.extractall(folder)


def main():
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
