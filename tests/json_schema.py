#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that JSON matches docs/NAME.schema.json, and has nothing that the schema does not describe.

    json_schema.py NAME FILE...     each file is one JSON value; exit status 77: python3-jsonschema is not installed
"""

import json
import os
import sys


def close(schema):
    """Later versions may add members; this version's output is fully described by its schemas."""
    if isinstance(schema, list):
        for part in schema:
            close(part)
    elif isinstance(schema, dict):
        if "properties" in schema:
            schema["unevaluatedProperties"] = False
        # Alternatives and conditions apply to the same object.
        for part in (part for name, part in schema.items() if name not in ("oneOf", "if", "then", "else")):
            close(part)


def validator(name):
    """None: python3-jsonschema is not installed."""
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return None
    with open(os.path.join(os.path.dirname(__file__), "../docs", name + ".schema.json"), encoding="ascii") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    close(schema)
    return Draft202012Validator(schema)


def main():
    check = validator(sys.argv[1])
    if not check:
        sys.exit(77)
    bad = 0
    for path in sys.argv[2:]:
        with open(path, encoding="ascii") as file:
            for error in check.iter_errors(json.load(file)):
                print("%s: %s: %s" % (path, "/".join(map(str, error.path)), error.message[:200]))
                bad = 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
