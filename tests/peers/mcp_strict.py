"""Makes calls from the schemas that the published converters of OpenAI and Google produce.

The packages are installed without their dependencies, so only the modules that convert are imported.
"""

import copy
import importlib.util
import json
import subprocess
import sys
from types import ModuleType

from mcp import Client
from mcp.types import ElicitResult

# Values of arguments that a model must give but does not need. An enumeration gets its first choice.
BLANK = {"string": "", "integer": 0, "boolean": False, "array": []}
# A local repository has neither checks nor rounds.
NOT_LOCAL = {"pr_checks", "pr_checks_rerun", "pr_resubmit"}


def without_init(package):
    """Makes the modules of a package importable without running its `__init__`."""
    paths = importlib.util.find_spec(package).submodule_search_locations
    sys.modules[package] = ModuleType(package)
    sys.modules[package].__path__ = paths


def stand_in(name, *attributes):
    """Replaces a module that needs the missing dependencies; the conversion does not use it."""
    sys.modules[name] = ModuleType(name)
    for attribute in attributes:
        setattr(sys.modules[name], attribute, object())


without_init("agents")
without_init("google.genai")
stand_in("openai", "NOT_GIVEN")
stand_in("google.genai._api_client", "_MULTI_REGIONAL_LOCATIONS", "_get_http_client_backend")

from agents.strict_schema import ensure_strict_json_schema
from google.genai._mcp_utils import agent_platform_to_gemini_tool


def openai(tool):
    """Returns the parameters in strict mode: every argument is required, and none can be null."""
    return ensure_strict_json_schema(copy.deepcopy(tool.input_schema))


def gemini(tool):
    """Returns the parameters as JSON Schema, without `additionalProperties: false`, on which
    `mcp_to_gemini_tool` fails."""
    (declaration,) = agent_platform_to_gemini_tool(tool).function_declarations
    return declaration.parameters_json_schema


CONVERTERS = {"openai-agents": openai, "google-genai": gemini}


def arguments(schema, named):
    """Returns the named arguments, and a blank value for every other argument of the schema."""
    args = {}
    for name, of in schema["properties"].items():
        if name not in named:
            is_choice = "enum" in of and name in schema.get("required", [])
            args[name] = of["enum"][0] if is_choice else BLANK[of["type"]]
        elif "properties" in of.get("items", {}):
            args[name] = [arguments(of["items"], item) for item in named[name]]
        else:
            args[name] = named[name]
    return args


def calls(head, results):
    """Yields a call of each tool, in an order in which all succeed. `results` has the data of earlier
    calls."""
    edits = [{"path": "e.txt", "content": "x\n"}, {"path": "empty.txt", "content": ""}]
    comment = {"path": "work.txt", "line": 1, "side": "right", "body": "Why?"}
    pull, issue = {"number": "1"}, {"issue": "1"}
    yield "forge_status", {}
    yield "pr_list", {}
    yield "pr_view", pull
    yield "pr_diff", pull
    yield "repo_file", {"path": "README.md"}
    yield "pr_create", {"title": "Topic", "head": "topic"}
    yield "pr_create", {"title": "Edited", "head": "edited", "edits": edits}
    yield "repo_push", {"branch": "topic", "expected_head": head, "message": "More", "edits": edits}
    yield "pr_edit", {**pull, "title": "New", "draft": "ready"}
    yield "pr_comment", {**pull, "body": "Hello"}
    yield "pr_review", {**pull, "verdict": "approve", "body": "See.", "comments": [comment]}
    review = results["pr_review"]
    yield "pr_thread_resolve", {**pull, "thread": review["threads"][0]}
    yield "pr_review_dismiss", {**pull, "review": review["id"], "body": "Outdated"}
    yield "pr_update_branch", pull
    yield "pr_set_state", {"number": "2", "state": "closed"}
    yield "pr_merge", pull
    # This wait ends at once.
    yield "pr_context", {**pull, "wait_for": "state"}
    yield "issue_create", {"title": "It breaks"}
    yield "issue_list", {}
    yield "issue_view", issue
    yield "issue_edit", {**issue, "title": "It broke"}
    yield "issue_comment", {**issue, "body": "Often."}
    yield "workflow_view", issue
    yield "workflow_set_state", {**issue, "state": "Ready for Plan", "command": "triage", "reason": "small"}
    yield "workflow_pick", {"command": "plan"}
    yield "workflow_claim", {"command": "plan"}
    yield "workflow_advance", {**issue, "target_state": "Ready for Plan"}


async def agree(_, __):
    return ElicitResult(action="accept", content={"confirm": True})


async def exercise(client, repo, server, convert):
    """Makes the calls with the converted schemas."""
    head = subprocess.run(["git", "rev-parse", "topic"], cwd=repo, check=True, capture_output=True, text=True)
    async with Client(server, mode="auto", elicitation_callback=agree) as peer:
        schemas = {tool.name: convert(tool) for tool in (await peer.list_tools()).tools}
        results, made = {}, 0
        for name, named in calls(head.stdout.strip(), results):
            args = arguments(schemas[name], named)
            result = await peer.call_tool(name, args)
            assert not result.is_error, f"{client}: {name} {json.dumps(args)}: {result.content}"
            results[name] = result.structured_content
            made += 1
    assert set(schemas) - set(results) == NOT_LOCAL, sorted(set(schemas) - set(results))
    print(f"ok strict {client}: {made} calls", flush=True)
