"""Writes the members of a TACO ZIP and the files of a FOLDER dataset into ZIPs, as archivers do: in another order, below folders,
compressed, with data descriptors, with ZIP64 fields, with the files of macOS."""

import os
import sys
import zipfile

zip_path, folder, out = sys.argv[1:4]
with zipfile.ZipFile(zip_path) as archive:
    packed = [(info.filename, archive.read(info)) for info in archive.infolist()]
loose = []
for root, _, files in os.walk(folder):
    for name in files:
        path = os.path.join(root, name)
        loose.append((os.path.relpath(path, folder).replace(os.sep, "/"), open(path, "rb").read()))


class Unseekable:
    """A file that is written from front to back, as a pipe: sizes and checksums follow the data."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def write(name, members, folder="", zip64=False, stream=False):
    with open(os.path.join(out, name), "wb") as file:
        with zipfile.ZipFile(Unseekable(file) if stream else file, "w") as archive:
            for member, data in members:
                with archive.open(zipfile.ZipInfo(folder + member), "w", force_zip64=zip64) as target:
                    target.write(data)


def plain(name, members, method=zipfile.ZIP_STORED, folder=""):
    with zipfile.ZipFile(os.path.join(out, name), "w", method) as archive:
        for member, data in members:
            archive.writestr(folder + member, data, method)


plain("sorted.zip", sorted(packed))
plain("reversed.zip", sorted(packed, reverse=True))
plain("top.zip", sorted(loose), folder="ds/")
plain("deep.zip", sorted(loose), folder="a/b c/ds/")
plain("dot.zip", sorted(loose), folder="./")
plain("windows.zip", [(name.replace("/", "\\"), data) for name, data in sorted(loose)], folder="ds\\")
plain("deflated.zip", sorted(loose), zipfile.ZIP_DEFLATED)
plain("deflated_top.zip", sorted(packed), zipfile.ZIP_DEFLATED, folder="ds/")
plain("deflated_in_order.zip", packed, zipfile.ZIP_DEFLATED)
plain("headless.zip", [member for member in packed if member[0] != "TACO_HEADER"])
mac = [("__MACOSX/ds/._" + name.rsplit("/")[-1] + str(at), b"attributes") for at, (name, _) in enumerate(loose)]
plain("mac.zip", mac + [("ds/" + name, data) for name, data in loose] + [("ds/.DS_Store", b"x"), ("ds/DATA/._x", b"x")])
write("zip64.zip", sorted(loose), folder="ds/", zip64=True)
write("streamed.zip", sorted(loose), folder="ds/", stream=True)
plain("none.zip", [("a.txt", b"text")])
