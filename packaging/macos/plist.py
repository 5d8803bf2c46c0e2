"""Checks packaging/macos/Info.plist: plist.py FILE EXTENSION… (the document types that the program has to be named for)"""

import plistlib
import sys

with open(sys.argv[1], "rb") as file:
    info = plistlib.load(file)
wanted = {
    "CFBundleIdentifier", "CFBundleVersion", "CFBundleShortVersionString", "CFBundlePackageType", "CFBundleExecutable", "CFBundleIconFile",
    "LSMinimumSystemVersion", "NSHighResolutionCapable",
}
missing = sorted(wanted - info.keys())
named = {ending for kind in info["CFBundleDocumentTypes"] for ending in kind.get("CFBundleTypeExtensions", [])}
missing += sorted(set(sys.argv[2:]) - named)
for kind in info["CFBundleDocumentTypes"]:
    missing += [f"{key} of {kind}" for key in ("CFBundleTypeName", "CFBundleTypeRole", "LSHandlerRank") if key not in kind]
if missing:
    sys.exit(f"{sys.argv[1]} lacks {', '.join(missing)}")
