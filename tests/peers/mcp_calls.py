"""Makes random calls with third-party MCP clients. Every result must match the published schemas.
Then makes the calls of `mcp_strict`.

usage: mcp_calls.py FORGE NODE PACKAGES

npm installed the TypeScript clients in PACKAGES. FORGE_SEED sets the seed of the random calls.
"""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
import httpx2 as httpx
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Tool

from mcp_client import FORGE, forge, git, write
import mcp_strict

NODE, PACKAGES = sys.argv[2:4]
SEED = int(os.environ.get("FORGE_SEED", "21"))
# Number of calls of each client.
CALLS = 300
SERVER = ["mcp", "--write", "--toolsets", "issues,workflow"]
# The server runs as Grace, but Ada opens the pull requests.
HOME = tempfile.mkdtemp(prefix="forge-calls-home-")
for variable in ("CONFIG", "CACHE", "DATA", "STATE"):
    os.environ[f"XDG_{variable}_HOME"] = os.path.join(HOME, variable.lower())
os.environ.update(HOME=HOME, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
ENV = dict(os.environ)
for role in ("AUTHOR", "COMMITTER"):
    ENV[f"GIT_{role}_NAME"] = "Grace"
    ENV[f"GIT_{role}_EMAIL"] = "grace@example.com"

# The head branches of pull requests 1 to 3.
PULLS = ["work", "other", "third"]
# Values of optional arguments that are not an enumeration.
VALUES = {
    "author": ["@me", "ada"],
    "base": ["main"],
    "context_lines": [1, 5],
    "labels": [["bug"]],
    "limit": [1, 30],
    "max_chars": [2_000, 25_000],
    "search": ["work"],
    "touches": [["*.txt"]],
}
# Arguments that are not chosen at random, because a wait takes long and a local repository has no
# checks.
NEVER = {"wait_for"}
NO_CHOICE = {"checks", "ci", "ci_logs"}
BLANK = ["", " ", [], 0, None]
WRONG = [{}, {"a": 1}, [[]], [None, {}], -1, 1.5, True, "no such thing \u202e", "x" * 3_000]
UNKNOWN = ["bogus", "two words", "\u00dcnknown"]


def world():
    """Creates a repository with pull requests 1 to 3, issues 1 and 2, and a branch `topic`."""
    repo = tempfile.mkdtemp(prefix="forge-calls-")
    git(repo, "init", "-q", "-b", "main")
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.com")
    write(repo, "README.md", "# Read me\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "First")
    for branch in [*PULLS, "topic"]:
        git(repo, "switch", "-q", "-c", branch, "main")
        write(repo, f"{branch}.txt", "one\ntwo\n")
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", branch)
    git(repo, "switch", "-q", "main")
    for branch in PULLS:
        forge(repo, "pr", "create", "-H", branch, "-B", "main", "-t", branch, "-b", "")
    forge(repo, "label", "create", "bug", "--force")
    for title in ("It breaks", "It leaks"):
        forge(repo, "issue", "create", "-t", title, "-b", "Often.")
    return repo


def usual(rng, known, n):
    """Returns a call of each tool in three lists: reads, writes, and calls that may be refused."""
    number = rng.choice([1, 2])
    branch = PULLS[number - 1]
    pull = {"number": rng.choice([str(number), f"#{number}"])}
    issue = {"issue": rng.choice(["1", "2"])}
    edits = [{"path": f"file-{n}.txt", "content": rng.choice(["x\n", ""])}]
    line = {"path": f"{branch}.txt", "line": 1, "body": "Why?"}
    reads = {
        "forge_status": {},
        "issue_list": {},
        "issue_view": issue,
        "pr_context": pull,
        "pr_diff": pull,
        "pr_list": {},
        "pr_view": pull,
        "repo_file": {"path": f"{branch}.txt", "ref": branch},
        "workflow_pick": {"command": "plan"},
        "workflow_view": issue,
    }
    writes = {
        "issue_comment": {**issue, "body": f"Comment {n}"},
        "issue_create": {"title": f"Issue {n}"},
        "issue_edit": {**issue, "title": f"Title {n}"},
        "pr_comment": {**pull, "body": f"Comment {n}"},
        "pr_create": {"title": f"Pull {n}", "head": f"new-{n}", "edits": edits},
        "pr_edit": {**pull, "title": f"Title {n}", "add_labels": ["bug"]},
        "pr_review": {**pull, "verdict": "comment", "body": "See.", "comments": [line]},
        "pr_set_state": {"number": "3", "state": rng.choice(["open", "closed"])},
        "pr_thread_resolve": {"number": "1", "thread": known["thread"], "action": rng.choice(["resolve", "reopen"])},
        "pr_update_branch": pull,
        "repo_push": {"branch": "topic", "expected_head": known["head"], "message": f"Edit {n}", "edits": edits},
    }
    others = {
        "pr_checks": pull,
        "pr_checks_rerun": pull,
        "pr_merge": pull,
        "pr_resubmit": pull,
        "pr_review_dismiss": {"number": "1", "review": known["review"], "body": "Outdated"},
        "workflow_advance": {**issue, "target_state": "Ready for Plan"},
        "workflow_claim": {"command": "plan"},
        "workflow_set_state": {**issue, "state": "Ready for Plan", "command": "triage", "reason": "small"},
    }
    return reads, writes, others


def fitting(rng, name, schema, repo):
    """Returns a random value of an optional argument, or None if no table has a value for it."""
    items = schema.get("items", schema)
    choices = [choice for choice in items.get("enum", []) if choice not in NO_CHOICE]
    if name == "repo":
        return repo
    if name in VALUES:
        return rng.choice(VALUES[name])
    if choices and name not in NEVER:
        return rng.choice(choices) if items is schema else rng.sample(choices, min(len(choices), 2))
    return rng.random() < 0.5 if schema["type"] == "boolean" else None


def generated(rng, tools, known, n):
    """Returns a tool and arguments: valid, with blank optional arguments, or with one mistake."""
    reads, writes, others = usual(rng, known, n)
    weights = {**{name: 4 for name in reads}, **{name: 1 for name in (*writes, *others)}}
    (name,) = rng.choices(list(weights), list(weights.values()))
    args = dict({**reads, **writes, **others}[name])
    takes, _ = tools[name]
    properties = takes.schema["properties"]
    optional = [key for key in properties if key not in args]
    if name in reads:
        for key in optional:
            value = fitting(rng, key, properties[key], known["repo"]) if rng.random() < 0.25 else None
            if value is not None:
                args[key] = value
    takes.validate(args)
    (kind,) = rng.choices(["fits", "blank", "wrong", "unknown"], [50, 28, 14, 8])
    if kind == "blank":
        for key in rng.sample(optional, min(len(optional), 3)):
            args.setdefault(key, rng.choice(BLANK))
    elif kind == "wrong":
        args[rng.choice(list(properties))] = rng.choice(WRONG)
    elif kind == "unknown":
        args[rng.choice(UNKNOWN)] = 1
    return name, args


async def exercise(client, repo, tools, call):
    """Makes the calls of one client."""
    rng = random.Random(f"{SEED} {client}")
    failed = Counter()

    async def checked(name, args, at):
        at = f"{client}, FORGE_SEED={SEED}, call {at}: {name} {json.dumps(args)[:2_000]}"
        try:
            is_error, data = await call(name, args)
        except Exception as error:
            raise AssertionError(at) from error
        for error in tools[name][1].iter_errors(data):
            raise AssertionError(f"{at}: {error.message[:2_000]}")
        assert is_error == ("error" in data), at
        if is_error:
            failed[f"{name} {data['error']['code']}"] += 1
        return is_error, data

    assert set(tools) == {name for kind in usual(rng, Counter(), 0) for name in kind}, sorted(tools)
    comment = {"path": "work.txt", "line": 1, "body": "Why?"}
    review = {"number": "1", "verdict": "request_changes", "body": "No.", "comments": [comment]}
    is_error, opened = await checked("pr_review", review, "first")
    assert not is_error, opened
    head = subprocess.run(["git", "rev-parse", "topic"], cwd=repo, check=True, capture_output=True, text=True)
    known = {"repo": repo, "thread": opened["threads"][0], "review": opened["id"], "head": head.stdout.strip()}
    for n in range(CALLS):
        name, args = generated(rng, tools, known, n)
        is_error, data = await checked(name, args, n)
        if name == "repo_push" and not is_error:
            known["head"] = data["head_oid"]
    succeeded = CALLS - failed.total()
    assert 2 * succeeded >= CALLS, f"{client}: {succeeded} of {CALLS}, {failed}"
    is_error, status = await checked("forge_status", {}, "last")
    assert not is_error, status
    print(f"ok calls {client}: {CALLS} made, {succeeded} succeeded", flush=True)


def schemas(tools):
    """Returns the validators of arguments and results by tool name."""
    all_of = {tool.name: (tool.input_schema, tool.output_schema) for tool in tools}
    return {name: tuple(map(Draft202012Validator, both)) for name, both in all_of.items()}


async def python(client, repo, server, mode):
    async with Client(server, mode=mode) as peer:

        async def call(name, args):
            result = await peer.call_tool(name, args)
            return result.is_error, result.structured_content

        await exercise(client, repo, schemas((await peer.list_tools()).tools), call)


async def stdio(client, repo, mode):
    await python(client, repo, StdioServerParameters(command=FORGE, args=SERVER, cwd=repo, env=ENV), mode)


async def http(client, repo, mode):
    token = "of-this-one-run-" + os.urandom(8).hex()
    command = [FORGE, *SERVER, "--http", "127.0.0.1:0"]
    env = dict(ENV, FORGE_MCP_TOKEN=token)
    server = subprocess.Popen(command, cwd=repo, env=env, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        wire = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
        await python(client, repo, streamable_http_client(url, http_client=wire), mode)
        assert server.poll() is None, "the server has ended"
    finally:
        server.terminate()
        server.wait()


async def fastmcp(client, repo, mode):
    server = StdioTransport(command=FORGE, args=SERVER, cwd=repo, env=ENV, keep_alive=False)
    async with FastClient(server, mode=mode) as peer:

        async def call(name, args):
            result = await peer.call_tool_mcp(name, args)
            return result.is_error, result.structured_content

        await exercise(client, repo, schemas(await peer.list_tools()), call)


async def typescript(client, repo, package):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_calls.mjs")
    command = [NODE, script, package, FORGE, repo, *SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, cwd=PACKAGES, env=ENV, **pipes) as peer:

        def answer():
            line = peer.stdout.readline()
            assert line, "the client has ended"
            return json.loads(line)

        async def call(name, args):
            print(json.dumps({"name": name, "arguments": args}), file=peer.stdin, flush=True)
            result = answer()
            return result["isError"], result["structuredContent"]

        await exercise(client, repo, schemas([Tool.model_validate(tool) for tool in answer()]), call)
    assert peer.returncode == 0, peer.returncode


CLIENTS = {
    "mcp stdio auto": (stdio, "auto"),
    "mcp stdio legacy": (stdio, "legacy"),
    "mcp http auto": (http, "auto"),
    "mcp http legacy": (http, "legacy"),
    "fastmcp": (fastmcp, "auto"),
    "typescript sdk": (typescript, "sdk"),
    "typescript client": (typescript, "client"),
}

assert len(CLIENTS) * CALLS >= 2_000
print(f"FORGE_SEED={SEED}", flush=True)
os.makedirs(os.path.join(os.environ["XDG_CONFIG_HOME"], "forge"))
write(os.environ["XDG_CONFIG_HOME"], "forge/config.toml", '[workflow]\nstore = "fields"\n')
for client, (run, how) in CLIENTS.items():
    asyncio.run(run(client, world(), how))
for client, convert in mcp_strict.CONVERTERS.items():
    repo = world()
    server = StdioServerParameters(command=FORGE, args=SERVER, cwd=repo, env=ENV)
    asyncio.run(mcp_strict.exercise(client, repo, server, convert))
