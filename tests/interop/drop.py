"""Drops files onto a window of an X server, as a file manager does: drop.py WINDOW X Y PATH...

The source side of XDND 5 through libX11: it owns the selection, offers the paths as text/uri-list, and ends when the window has
taken them."""

import ctypes
import ctypes.util
import sys
import time
from pathlib import Path

TIMEOUT_S = 20
SELECTION_REQUEST, SELECTION_NOTIFY, CLIENT_MESSAGE = 30, 31, 33
x11 = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
word = ctypes.c_ulong


class ClientMessage(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", word), ("send_event", ctypes.c_int), ("display", ctypes.c_void_p), ("window", word),
                ("message_type", word), ("format", ctypes.c_int), ("data", ctypes.c_long * 5)]


class SelectionRequest(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", word), ("send_event", ctypes.c_int), ("display", ctypes.c_void_p), ("owner", word),
                ("requestor", word), ("selection", word), ("target", word), ("property", word), ("time", word)]


class Selection(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", word), ("send_event", ctypes.c_int), ("display", ctypes.c_void_p),
                ("requestor", word), ("selection", word), ("target", word), ("property", word), ("time", word)]


class Event(ctypes.Union):
    _fields_ = [("type", ctypes.c_int), ("message", ClientMessage), ("request", SelectionRequest), ("selection", Selection),
                ("pad", ctypes.c_long * 24)]


for function, result, arguments in [
    ("XOpenDisplay", ctypes.c_void_p, [ctypes.c_char_p]),
    ("XDefaultRootWindow", word, [ctypes.c_void_p]),
    ("XCreateSimpleWindow", word, [ctypes.c_void_p, word] + [ctypes.c_int] * 2 + [ctypes.c_uint] * 3 + [word] * 2),
    ("XInternAtom", word, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]),
    ("XSetSelectionOwner", ctypes.c_int, [ctypes.c_void_p, word, word, word]),
    ("XSendEvent", ctypes.c_int, [ctypes.c_void_p, word, ctypes.c_int, ctypes.c_long, ctypes.c_void_p]),
    ("XChangeProperty", ctypes.c_int, [ctypes.c_void_p, word, word, word, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]),
    ("XNextEvent", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
    ("XPending", ctypes.c_int, [ctypes.c_void_p]),
    ("XFlush", ctypes.c_int, [ctypes.c_void_p]),
]:
    getattr(x11, function).restype = result
    getattr(x11, function).argtypes = arguments

target, x, y = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
uris = "".join(f"{Path(path).resolve().as_uri()}\r\n" for path in sys.argv[4:]).encode()
display = x11.XOpenDisplay(None)
if not display:
    sys.exit("there is no display")
source = x11.XCreateSimpleWindow(display, x11.XDefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0)


def atom(name):
    return x11.XInternAtom(display, name.encode(), 0)


def tell(name, *data):
    event = Event()
    event.message.type, event.message.window, event.message.message_type, event.message.format = CLIENT_MESSAGE, target, atom(name), 32
    for at, value in enumerate((source, *data)):
        event.message.data[at] = value
    x11.XSendEvent(display, target, 0, 0, ctypes.byref(event))
    x11.XFlush(display)


def answer(request):
    x11.XChangeProperty(display, request.requestor, request.property, request.target, 8, 0, uris, len(uris))
    event = Event()
    event.selection.type, event.selection.requestor, event.selection.selection = SELECTION_NOTIFY, request.requestor, request.selection
    event.selection.target, event.selection.property, event.selection.time = request.target, request.property, request.time
    x11.XSendEvent(display, request.requestor, 0, 0, ctypes.byref(event))
    x11.XFlush(display)


def wait_for(name):
    """Answers requests for the paths until the window sends this message."""
    end, event = time.monotonic() + TIMEOUT_S, Event()
    while time.monotonic() < end:
        if not x11.XPending(display):
            time.sleep(0.01)
            continue
        x11.XNextEvent(display, ctypes.byref(event))
        if event.type == SELECTION_REQUEST:
            answer(event.request)
        elif event.type == CLIENT_MESSAGE and event.message.message_type == atom(name):
            return event.message
    sys.exit(f"the window sends no {name}")


x11.XSetSelectionOwner(display, atom("XdndSelection"), source, 0)
tell("XdndEnter", 5 << 24, atom("text/uri-list"), 0, 0)
tell("XdndPosition", 0, x << 16 | y, 0, atom("XdndActionCopy"))
if not wait_for("XdndStatus").data[1] & 1:
    sys.exit("the window takes no files here")
tell("XdndDrop", 0, 0, 0, 0)
wait_for("XdndFinished")
