#!/usr/bin/env python3
"""Reads tests/project/rooms. As a program, prints the table for CONTRIBUTING.md."""

import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rooms")


class Room:
    def __init__(self, name, contents):
        self.name, self.contents = name, contents
        self.may, self.libraries = {}, set()  # other rooms, each with its headers that may be included, or None: all

    def add(self, text):
        for word, headers, library in re.findall(r"([\w/]+)(\([^)]*\))?|<(\w+)>", text):
            if library:
                self.libraries.add(library)
            else:
                self.may[word] = set(headers[1:-1].split()) if headers else None


def read(path=PATH):
    """Returns the rooms by name, in the table's order."""
    rooms, room = {}, None
    with open(path) as lines:
        for line in lines:
            if line.startswith("\t"):
                room.add(line)
            elif line.strip() and not line.startswith("#"):
                name, contents = line.strip().split(": ", 1)
                room = rooms[name] = Room(name, contents)
    return rooms


def room_of(rooms, path):
    """Returns the name of the innermost room in which the file is, or None."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def table(rooms):
    return ["| room | contents |", "|---|---|"] + ["| %s/ | %s |" % (room.name, room.contents) for room in rooms.values()]


if __name__ == "__main__":
    print("\n".join(table(read())))
