"""Tests the MCP server with MCP's official Python client: both protocol eras, over stdio and HTTP.

usage: mcp_client.py FORGE
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
import httpx2 as httpx

FORGE = sys.argv[1]
# Seconds that git delays a diff in the cancellation test.
SLOW = 3
GIT = """#!/bin/sh
case " $* " in
*" diff"*)
    if [ -e "$SLOW_LOG" ]; then
        echo begun >> "$SLOW_LOG"
        sleep "$SLOW_TIME"
        echo ended >> "$SLOW_LOG"
    fi ;;
esac
exec "$REAL_GIT" "$@"
"""


def git(repo, *args, stdin=None):
    env = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", "-C", repo, *who, *args], check=True, env=env, input=stdin, stdout=subprocess.DEVNULL)


def repository():
    repo = tempfile.mkdtemp(prefix="forge-mcp-")
    git(repo, "init", "-q", "-b", "main")
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.com")
    write(repo, "README.md", "# Read me\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "First")
    for branch, text in [("work", "one\ntwo\n"), ("large", "line of a large file\n" * 200_000)]:
        git(repo, "switch", "-q", "-c", branch, "main")
        write(repo, f"{branch}.txt", text)
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", branch)
        forge(repo, "pr", "create", "-H", branch, "-B", "main", "-t", branch, "-b", "")
    git(repo, "switch", "-q", "main")
    return repo


def trap(repo):
    """Puts the files of a bare repository into `docs`. Returns the path to which its program writes."""
    canary = os.path.join(tempfile.mkdtemp(prefix="forge-trap-"), "canary")
    git(repo, "clone", "-q", "--bare", repo, "docs")
    docs = os.path.join(repo, "docs")
    settings = f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch {canary}; false"\n'
    write(docs, "config", settings)
    # Without a guard, git runs the program.
    git(docs, "-c", "safe.bareRepository=all", "status")
    os.remove(canary)
    return canary


async def runs_no_trap(client, canary):
    """Calls tools on the directory whose configuration names the program."""
    for tool, more in [("pr_view", {"number": "1"}), ("pr_diff", {"number": "1"}), ("pr_list", {})]:
        refused = await client.call_tool(tool, {"repo": "./docs", **more})
        assert refused.is_error, refused.content
    assert not os.path.exists(canary), "a program of the repository ran"


def write(repo, name, text):
    with open(os.path.join(repo, name), "w", encoding="utf-8") as file:
        file.write(text)


def slow_git():
    """Creates a git with slow diffs while a log file exists. Returns an environment and the log."""
    place = tempfile.mkdtemp(prefix="forge-git-")
    write(place, "git", GIT)
    os.chmod(os.path.join(place, "git"), 0o755)
    log = os.path.join(place, "log")
    env = dict(
        os.environ,
        PATH=place + os.pathsep + os.environ["PATH"],
        REAL_GIT=shutil.which("git"),
        SLOW_LOG=log,
        SLOW_TIME=str(SLOW),
    )
    return env, log


async def is_cancelled(client, log):
    """Cancels a running call, and checks that the server stops its git processes."""
    write(os.path.dirname(log), "log", "")
    running = asyncio.create_task(client.call_tool("pr_diff", {"number": "2"}))
    while not lines(log):
        assert not running.done(), "the call was over before it could be cancelled"
        await asyncio.sleep(0.01)
    running.cancel()
    (answer,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(answer, asyncio.CancelledError), answer
    # A git that was not stopped would log its end, or start another diff.
    await asyncio.sleep(SLOW + 1)
    assert lines(log) == ["begun"], lines(log)
    os.remove(log)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split()


def forge(repo, *args):
    subprocess.run([FORGE, *args], cwd=repo, check=True, stdout=subprocess.DEVNULL)


async def exercise(connect, log, canary, name):
    asked, told = [], []

    async def agree(_, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    async def progress(done, total, message):
        told.append(done)

    async with connect(agree) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"pr_list", "pr_view", "pr_merge"} <= tools, tools
        listed = await client.call_tool("pr_list", {})
        assert not listed.is_error and len(listed.structured_content["pull_requests"]) == 2
        failed = await client.call_tool("pr_view", {"number": "99"})
        assert failed.is_error and failed.structured_content["error"]["code"] == "not_found"
        await runs_no_trap(client, canary)
        await is_cancelled(client, log)
        large = await client.call_tool("pr_diff", {"number": "2"}, progress_callback=progress)
        assert large.structured_content["additions"] == 200_000
        assert len(large.content[0].text) <= 25_000
        assert told == sorted(told) and told, "no progress"
        resources = await client.list_resources()
        assert resources.resources
        prompt = await client.get_prompt("review_pr", {"number": "1"})
        assert prompt.messages
        head = (await client.call_tool("pr_view", {"number": "1"})).structured_content["pull_request"]["head_oid"]
        merged = await client.call_tool("pr_merge", {"number": "1", "expected_head": head})
        assert not merged.is_error, merged.content
        assert merged.structured_content["merged"] and len(asked) == 1, asked
    print(f"ok {name}", flush=True)


async def over_stdio(mode):
    repo = repository()
    env, log = slow_git()
    server = StdioServerParameters(command=FORGE, args=["mcp", "--write"], cwd=repo, env=env)
    await exercise(lambda agree: Client(server, mode=mode, elicitation_callback=agree), log, trap(repo), f"stdio {mode}")


async def over_http(mode):
    repo = repository()
    env, log = slow_git()
    token = "of-this-one-run-" + os.urandom(8).hex()
    server = subprocess.Popen(
        [FORGE, "mcp", "--write", "--http", "127.0.0.1:0"],
        cwd=repo,
        env=dict(env, FORGE_MCP_TOKEN=token),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = server.stdout.readline().split()[-1]

        def connect(agree):
            http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
            wire = streamable_http_client(url, http_client=http)
            return Client(wire, mode=mode, elicitation_callback=agree)

        await exercise(connect, log, trap(repo), f"http {mode}")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    for wire in (over_stdio, over_http):
        for mode in ("auto", "legacy"):
            asyncio.run(wire(mode))
