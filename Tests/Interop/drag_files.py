#!/usr/bin/python3
"""A window from which files are dragged, as a file manager's.

Usage: drag_files.py FILE ...     Exit code 77: GTK's bindings are missing.
"""
import pathlib, sys

try:
    import gi
    gi.require_version("Gtk", "4.0")
    from gi.repository import Gdk, GLib, Gtk
except (ImportError, ValueError):
    sys.exit(77)


def show(application):
    window = Gtk.ApplicationWindow(application=application, title="Dragger", default_width=90, default_height=60)
    label = Gtk.Label(label="drag")
    source = Gtk.DragSource(actions=Gdk.DragAction.COPY)
    addresses = "".join(pathlib.Path(file).as_uri() + "\r\n" for file in sys.argv[1:])
    source.connect("prepare", lambda *_: Gdk.ContentProvider.new_for_bytes("text/uri-list", GLib.Bytes.new(addresses.encode())))
    label.add_controller(source)
    window.set_child(label)
    window.present()


if not sys.argv[1:]:
    sys.exit(0)
application = Gtk.Application()
application.connect("activate", show)
sys.exit(application.run([]))
