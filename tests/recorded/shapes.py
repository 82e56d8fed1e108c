#!/usr/bin/env python3
"""Writes the shapes of recorded answers: `shapes.py RECORDINGS` makes github.shapes.json and
tangled.shapes.json beside this script. RECORDINGS has the folders `github` and `tangled`.

A shape has field names in their order, the kinds of values, and the texts that are part of an API.
It has no names, texts and ids of people. `shape.rs` classifies in the same way. Needs PyYAML.
"""

import ast
import json
import pathlib
import re
import sys
import urllib.parse

import yaml

RULES = json.loads((pathlib.Path(__file__).parent / "kinds.json").read_text())
# Values of these fields are words of an API, and part of the shape.
WORDS = set(RULES["words"])
# Patterns of whole values with their kinds, and patterns in addresses with what replaces them.
KINDS = [(pattern, kind.replace("$", "\\")) for pattern, kind in RULES["kinds"]]
NAMES = [(pattern, name.replace("$", "\\")) for pattern, name in RULES["names"]]
HEADERS = re.compile(
    r"content-type|link|location|retry-after|etag|x-(oauth|accepted|github|ratelimit).*|ratelimit.*"
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


def without_names(url):
    for pattern, name in NAMES:
        url = re.sub(pattern, name, url)
    return url


def template(message, names):
    """Replaces what a request names in a message by the names of its fields."""
    for name, value in sorted(names, key=lambda it: -len(it[1])):
        message = message.replace(value, f"<{name}>")
    message = re.sub(r"at://did:[a-z]+:[^/]+/[\w.]+/\w+", "<at-uri>", message)
    return re.sub(r"^\S+ does not have a", "<login> does not have a", message)


def shape(value, names, key=""):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return "int"
    if isinstance(value, list):
        return unique(shape(item, names, key) for item in value)
    if isinstance(value, dict):
        return {name: shape(item, names, name) for name, item in value.items()}
    if value in ("", "REDACTED"):
        return "text" if value else "empty"
    if time := TIME.fullmatch(value):
        return f"time {len(time[1] or '')} {'Z' if time[2] == 'Z' else 'offset'}"
    if key in WORDS:
        return "=" + (template(value, names) if key == "message" else value)
    for pattern, kind in KINDS:
        if found := re.fullmatch(pattern, value):
            return found.expand(kind)
    if url := re.match(r"https?://([^/]+)", value):
        # The hosts of others are no part of a shape, except in a context.
        is_shape = re.search(r"github|^w3id|^www\.w3", url[1])
        return "url " + without_names(value if is_shape else value[url.end():])
    return "text"


def unique(items):
    kept = []
    for item in items:
        kept += [] if item in kept else [item]
    return kept


def sort_keys(value):
    if isinstance(value, list):
        return unique(map(sort_keys, value))
    if isinstance(value, dict):
        return {name: sort_keys(value[name]) for name in sorted(value)}
    return value


def names_of(value, key=""):
    if isinstance(value, dict):
        return [it for name, item in value.items() for it in names_of(item, name)]
    if isinstance(value, list):
        return [it for item in value for it in names_of(item, key)]
    return [(key, value)] if isinstance(value, str) and len(value) > 3 else []


def exchange(method, url, body, status, headers, answer, is_ordered=True):
    """Returns a name and the shape of one request with its answer."""
    parts = urllib.parse.urlsplit(url)
    request = {"method": method, "path": without_names(parts.path)}
    name = f"{method} {request['path']}"
    names = []
    if repo := re.match(r"/repos/([^/]+)/([^/]+)", parts.path):
        names = [("owner", repo[1]), ("repo", repo[2])]
    if parts.query:
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        request["query"] = shape({key: query[key] for key in sorted(query)}, names)
    if "query" in (body or {}):
        name = re.search(r"\{\s*(?:\w+:\s*)?(\w+)", body["query"])[1]
        body = body.get("variables") or {}
    if body is not None:
        names = names_of(body) + names
        request["body"] = sort_keys(shape(body, names))
    kept = {k.lower(): v for k, v in headers.items() if HEADERS.fullmatch(k.lower())}
    kinds = {k: v if k == "content-type" else shape(v, names) for k, v in sorted(kept.items())}
    answer = shape(answer, names)
    return name, {
        "request": request, "status": status, "headers": kinds, "is_ordered": is_ordered,
        "answer": answer if is_ordered else sort_keys(answer),
    }


def parsed(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text or None


def cassette(file):
    for item in yaml.safe_load(file.read_text())["interactions"]:
        request, answer = item["request"], item["response"]
        headers = {k: ", ".join(v) for k, v in answer["headers"].items()}
        yield (request.get("method") or "POST", request["url"], parsed(request["body"]),
               answer["code"], headers, parsed(answer["body"]))


def pygithub(file):
    for block in re.split(r"\n\s*\n(?=https\n)", file.read_text().strip()):
        _, method, _, _, path, _, body, status, headers, *answer = block.split("\n")
        # A space after a colon shows that the recorder has written the body anew.
        yield (method, path, parsed(body if body != "None" else ""), int(status),
               dict(ast.literal_eval(headers)), parsed(answer[0]), '": ' not in answer[0])


def wiremock(file):
    stub = json.loads(file.read_text())
    request, answer = stub["request"], stub["response"]
    sent = [it["equalToJson"] for it in request.get("bodyPatterns", [])]
    headers = {k: v if isinstance(v, str) else ", ".join(v) for k, v in answer["headers"].items()}
    reset = "X-RateLimit-Reset"
    if "{{" in headers.get(reset, ""):
        headers[reset] = "1"
    yield (request["method"], request["url"], parsed(sent[0]) if sent else None,
           answer["status"], headers, parsed(answer["body"]))


def refusals(file):
    for item in json.loads(file.read_text()):
        if "mutation" in item:
            sent = {"query": "{" + item["mutation"]}
            yield "POST", "/graphql", sent, item["status"], {}, item["body"]
        else:
            yield (item["method"].upper(), item["path"], item["body"] or None, item["status"], {},
                   item["response"] or None)


def tangled(file):
    record = json.loads(file.read_text())
    if "request" in record:
        request, answer = record["request"], record["response"]
        url = request.get("url") or request["path"] + "?" + urllib.parse.urlencode(request["query"])
        # The recorders have sorted the keys of what is no answer of a PDS.
        is_ordered = "/xrpc/com.atproto.repo" in url or "/links" in url
        yield (request["method"], url, request.get("body"), answer["status"], answer["headers"],
               answer["body"], is_ordered)


def collect(root, readers):
    recordings, exchanges = {}, {}
    for pattern, reader in readers:
        for number, file in enumerate(sorted(root.glob(pattern)), 1):
            keys = []
            for item in reader(file):
                name, found = exchange(*item)
                same = [key for key, it in exchanges.items() if as_text(it) == as_text(found)]
                count = sum(key.rsplit(" #", 1)[0] == name for key in exchanges)
                key = same[0] if same else f"{name} #{count + 1}"
                exchanges[key] = found
                keys.append(key)
            # The names of files of tangled have ids of people.
            has_ids = root.name == "tangled"
            name = f"{file.parent.name}/{number}" if has_ids else str(file.relative_to(root))
            if keys:
                recordings[name] = keys
    return {"recordings": recordings, "exchanges": exchanges}


def as_text(value):
    return json.dumps(value, ensure_ascii=False)


def write(shapes, path):
    """One line for each recording and each exchange, so that a difference is one line."""
    parts = []
    for part, rows in shapes.items():
        lines = ",\n".join(f"  {as_text(key)}: {as_text(row)}" for key, row in rows.items())
        parts.append(f' "{part}": {{\n{lines}\n }}')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def main():
    root, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent
    github = [
        ("git-spice/*.yaml", cassette), ("TestRepo*.yaml", cassette), ("pygithub/*.txt", pygithub),
        ("hub4j/*.json", wiremock), ("octokit-fixtures/*.json", refusals),
        ("sourcegraph/*.json", refusals),
    ]
    recorded = [("eludite-*/*.json", tangled), ("forges-*/*.json", tangled)]
    for name, readers in (("github", github), ("tangled", recorded)):
        write(collect(root / name, readers), here / f"{name}.shapes.json")


main()
