#!/usr/bin/env python3
"""A desktop with a tray and a portal, for coffret-helper: it is asked as they ask, and watched.

Usage: desktop_helper.py HELPER STORE FOLDER. Programs that it starts are written to FOLDER/started. Writes a line for each thing that held.
"""
import os, subprocess, sys, time

import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
helper, store, folder = sys.argv[1:4]
bus = dbus.SessionBus()
registered, sessions, bound = [], [], []


def check(what, holds, seen=""):
    if not holds:
        raise AssertionError(f"{what}: {seen}")
    print("held:", what, flush=True)


def wait(what, probe, seconds=120):
    end = time.monotonic() + seconds
    while not probe():
        if time.monotonic() > end:
            raise AssertionError(f"waited for {what}")
        GLib.MainContext.default().iteration(False)
        time.sleep(0.02)


class Watcher(dbus.service.Object):
    @dbus.service.method("org.kde.StatusNotifierWatcher", in_signature="s", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, path, sender):
        registered.append((sender, path))


class Portal(dbus.service.Object):
    @dbus.service.method("org.freedesktop.portal.GlobalShortcuts", in_signature="a{sv}", out_signature="o", sender_keyword="sender")
    def CreateSession(self, options, sender):
        sessions.append(sender)
        request = "/org/freedesktop/portal/desktop/request/x/" + str(options["handle_token"])
        GLib.idle_add(lambda: Request(bus, request).Response(dbus.UInt32(0), {"session_handle": "/org/freedesktop/portal/desktop/session/x/coffret"}))
        return dbus.ObjectPath(request)

    @dbus.service.method("org.freedesktop.portal.GlobalShortcuts", in_signature="oa(sa{sv})sa{sv}", out_signature="o")
    def BindShortcuts(self, session, shortcuts, window, options):
        bound.append((str(session), [(str(name), str(values["description"])) for name, values in shortcuts]))
        return dbus.ObjectPath("/org/freedesktop/portal/desktop/request/x/bind")

    @dbus.service.signal("org.freedesktop.portal.GlobalShortcuts", signature="osta{sv}")
    def Activated(self, session, name, moment, options):
        pass


class Request(dbus.service.Object):
    @dbus.service.signal("org.freedesktop.portal.Request", signature="ua{sv}")
    def Response(self, code, results):
        pass


def started():
    try:
        return open(folder + "/started").read().splitlines()
    except FileNotFoundError:
        return []


for name in ("org.freedesktop.portal.Desktop", "org.kde.StatusNotifierWatcher"):
    bus.request_name(name)
watcher, portal = Watcher(bus, "/StatusNotifierWatcher"), Portal(bus, "/org/freedesktop/portal/desktop")
process = subprocess.Popen([helper, "--store", store], stdout=subprocess.PIPE)
try:
    wait("the item", lambda: registered)
    check("it stands in the tray", registered[0][1] == "/StatusNotifierItem", registered)
    item = bus.get_object(registered[0][0], "/StatusNotifierItem", introspect=False)
    menu = bus.get_object(registered[0][0], "/MenuBar", introspect=False)
    call = lambda thing, interface, member, *words: getattr(dbus.Interface(thing, interface), member)(*words)
    own = lambda: call(item, "org.freedesktop.DBus.Properties", "GetAll", "org.kde.StatusNotifierItem")
    check("it has a name, an icon and a menu", (own()["Id"], own()["IconName"], own()["Menu"]) == ("coffret", "coffret", "/MenuBar"), own())
    labels = lambda: {int(each[0]): str(each[1].get("label", "")) for each in call(menu, "com.canonical.dbusmenu", "GetLayout", dbus.Int32(0), dbus.Int32(-1), dbus.Array([], "s"))[1][2]}
    check("while the store is open it can be locked", labels()[4] == "Lock" and 5 not in labels() and own()["OverlayIconName"] == "", labels())
    click = lambda number: call(menu, "com.canonical.dbusmenu", "Event", dbus.Int32(number), "clicked", dbus.Int32(0), dbus.UInt32(0))
    click(1)
    wait("the window", lambda: started() == [f"open --store {store}"])
    click(2)
    wait("quick find", lambda: started()[1:] == [f"open --quick --store {store}"])
    call(item, "org.kde.StatusNotifierItem", "Activate", dbus.Int32(0), dbus.Int32(0))
    wait("the window by a click", lambda: len(started()) == 3)
    for number in (0, 3, 5, 99):
        click(number)
    call(menu, "com.canonical.dbusmenu", "Event", dbus.Int32(4), "hovered", dbus.Int32(0), dbus.UInt32(0))
    wait("the shortcut to be bound", lambda: bound)
    check("it asks for one shortcut, in its own session", bound == [("/org/freedesktop/portal/desktop/session/x/coffret", [("find", "Find in Coffret, and copy")])], bound)
    portal.Activated(dbus.ObjectPath("/other/session"), "find", dbus.UInt64(1), {})
    portal.Activated(dbus.ObjectPath("/org/freedesktop/portal/desktop/session/x/coffret"), "other", dbus.UInt64(1), {})
    portal.Activated(dbus.ObjectPath("/org/freedesktop/portal/desktop/session/x/coffret"), "find", dbus.UInt64(1), {})
    wait("quick find by the shortcut", lambda: len(started()) == 4)
    check("no other shortcut, line or hidden entry does anything", started()[3] == f"open --quick --store {store}" and len(started()) == 4, started())
    check("a second one of the store ends", subprocess.run([helper, "--store", store], capture_output=True, timeout=60).returncode == 75)
    click(4)
    wait("the lock", lambda: len(started()) == 5)
    wait("the menu to know it", lambda: labels().get(5) == "Unlock")
    check("R155: a locked store is shown as one, and can be asked for", 4 not in labels() and own()["OverlayIconName"] == "changes-prevent" and "locked" in own()["ToolTip"][3], own())
    check("R155: no text of the store is in the tray", "Garden" not in str(own()) + str(labels()))
    strange = [("/StatusNotifierItem", "org.kde.StatusNotifierItem.Frob", ()), ("/MenuBar", "com.canonical.dbusmenu.Frob", ()), ("/other", "org.kde.StatusNotifierItem.Activate", (1, 1)), ("/MenuBar", "com.canonical.dbusmenu.GetLayout", ("x",))]
    for path, member, words in strange:
        try:
            bus.get_object(registered[0][0], path, introspect=False).get_dbus_method(*reversed(member.rsplit(".", 1)))(*words)
            refusal = None
        except dbus.DBusException as error:
            refusal = error.get_dbus_name()
        check(f"{path} {member} is refused", refusal == "org.freedesktop.DBus.Error.UnknownMethod", refusal)
    count = len(registered)
    bus.release_name("org.kde.StatusNotifierWatcher")
    bus.request_name("org.kde.StatusNotifierWatcher")
    wait("the item in a tray that came later", lambda: len(registered) > count)
    click(7)
    check("the person takes it out of the tray", process.wait(60) == 0)
    print("all held", flush=True)
finally:
    process.kill()
