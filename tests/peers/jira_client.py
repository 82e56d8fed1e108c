"""Prints a ticket, as the Python package `jira` reads it, as JSON.

usage: jira_client.py URL KEY [EMAIL]

The token is in the environment: JIRA_PEER_TOKEN. With an e-mail address it is one of JIRA Cloud.
"""

import json
import os
import sys

from jira import JIRA
from jira.exceptions import JIRAError

url, key, *email = sys.argv[1:]
token = os.environ["JIRA_PEER_TOKEN"]
login = {"basic_auth": (email[0], token)} if email else {"token_auth": token}
client = JIRA(server=url, max_retries=0, **login)
try:
    issue = client.issue(key)
except JIRAError as error:
    print(json.dumps({"status_code": error.status_code}))
    sys.exit()
fields = issue.fields
comments = client.comments(key)
print(
    json.dumps(
        {
            "cloud": client._is_cloud,
            "key": issue.key,
            "title": fields.summary,
            "statusName": fields.status.name,
            "category": fields.status.statusCategory.key,
            "labels": fields.labels,
            "body": fields.description,
            "comments": [[c.id, c.author.displayName, c.body] for c in comments],
            "url": issue.permalink(),
        }
    )
)
