"""Runs the worked example of docs/how-to/workflow.md with MCP's official Python client.
Prints the result as JSON.

usage: workflow_client.py FORGE REPO ISSUE HEAD METHOD
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

FORGE, REPO, ISSUE, HEAD, METHOD = sys.argv[1:]
SERVER = ["mcp", "--write", "--toolsets", "issues,workflow"]


async def story(client):
    came = {"phases": [], "states": []}

    async def raw(tool, **args):
        return await client.call_tool(tool, {"repo": REPO, **args})

    async def call(tool, **args):
        answer = await raw(tool, **args)
        assert not answer.is_error, (tool, answer.content)
        return answer.structured_content

    async def look():
        view = await call("workflow_view", issue=ISSUE)
        came["phases"].append(view["phase"])

    async def move(state, command, **more):
        moved = await call("workflow_set_state", issue=ISSUE, state=state, command=command, **more)
        came["states"].append(moved["new_state"])

    prompt = await client.get_prompt("workflow_loop", {"command": "plan", "repo": REPO})
    text = prompt.messages[0].content.text
    came["prompt"] = text.startswith("Work on issues") and " as plan, one at a time." in text
    await look()
    await move("Ready for Plan", "triage", reason="small enough")
    await look()
    taken = await call("workflow_claim", command="plan", holder="agent-1")
    came["states"].append(taken["change"]["new_state"])
    refused = await raw("workflow_claim", issue=ISSUE, command="plan", holder="agent-2")
    came["refused"] = refused.structured_content["error"]["code"]
    came["names_holder"] = "agent-1 holds it" in refused.content[0].text
    await move("__COMPLETE__", "plan", claim=taken["claim"]["id"])
    await look()
    taken = await call("workflow_claim", issue=ISSUE, command="impl", holder="agent-1")
    await look()
    await move("__COMPLETE__", "impl", claim=taken["claim"]["id"])
    view = await call("workflow_view", issue=ISSUE, target_state="In Review")
    came["recommendation"] = view["target"]["recommendation"]
    opened = await call("pr_create", title="Mend it", head=HEAD, base="main", closes=[ISSUE])
    merged = await call("pr_merge", number=opened["number"], method=METHOD)
    came["transitioned"] = len(merged["linked_issues_transitioned"])
    again = await call("pr_merge", number=opened["number"], method=METHOD)
    lists = ("linked_issues_transitioned", "linked_issues_skipped")
    came["again"] = [len(again.get(name, [])) for name in lists]
    await look()
    came["state"] = (await call("issue_view", number=ISSUE))["issue"]["state"]

    async def opened_issue(title, **more):
        return (await call("issue_create", title=title, **more))["number"]

    # The first part blocks the second; the parent follows its parts through a gate.
    parent = await opened_issue("Logins leak memory")
    first = await opened_issue("Find the leak", parent=parent)
    second = await opened_issue("Measure it nightly", parent=parent, blocked_by=[first])
    for part in (first, second):
        state = {"state": "Research Needed", "command": "triage"}
        await call("workflow_set_state", issue=part, **state)
    view = await call("workflow_view", issue=second)
    came["group"] = [member["title"] for member in view["issues"]]
    taken = await call("workflow_claim", command="research", holder="agent-1")
    picked = taken["pick"]
    came["picked"] = picked["issue"]["title"]
    came["waits"] = [left["reason"].startswith("it waits for ") for left in picked["skipped"]]
    state = {"state": "__COMPLETE__", "command": "research", "claim": taken["claim"]["id"]}
    await call("workflow_set_state", issue=first, **state)
    parts = await call("workflow_advance", issue=parent, target_state="Ready for Plan")
    up = await call("workflow_advance", issue=first, parent=True)
    lists = ("advanced", "skipped", "errors")
    came["advanced"] = [[len(moved[name]) for name in lists] for moved in (parts, up)]
    view = await call("workflow_view", issue=first, target_state="Ready for Plan")
    came["converged"] = view["target"]["converged"]
    return came


async def main():
    asked = []

    async def agree(_, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    server = StdioServerParameters(command=FORGE, args=SERVER, env=dict(os.environ))
    async with Client(server, mode="auto", elicitation_callback=agree) as client:
        came = await story(client)
    came["asked"] = len(asked)
    print(json.dumps(came))


asyncio.run(main())
