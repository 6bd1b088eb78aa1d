#!/usr/bin/env python3
"""A tool control in Python, for the modes once and serve.

It passes reads below the agent's directory, refuses other reads, and holds every other call until somebody makes this
file answer otherwise. It looks at paths as they are written and does not follow links.
"""

import json
import sys


def read(data):
    """The request in these bytes. Whatever is none raises: no verdict, and an exit code that is not 0."""
    request = json.loads(data.decode("utf-8"))
    texts = [request[key] for key in ("id", "name", "role", "agent_id")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(request["input"], dict):
        raise ValueError("not a request")
    return request


def below(path):
    return isinstance(path, str) and not path.startswith("/") and ".." not in path.split("/")


def judge(request):
    if request["name"] in ("read_file", "cd"):
        if below(request["input"].get("path")):
            return {"verdict": "pass"}
        return {"verdict": "refuse", "reason": "stay below your own directory"}
    return {"verdict": "hold", "reason": "a person has to look at this call"}


def main():
    if sys.argv[1:] == ["serve"]:
        for line in sys.stdin.buffer:
            request = read(line)
            print(json.dumps({**judge(request), "id": request["id"]}), flush=True)
    else:
        print(json.dumps(judge(read(sys.stdin.buffer.read()))))


main()
