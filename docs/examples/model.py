#!/usr/bin/env python3
"""A model of a few lines: it asks for one look at the working directory and tells what it got."""
import json
import sys


def send(event, **fields):
    print(json.dumps({"type": event, **fields}), flush=True)


def block(index, kind, delta, text):
    send("content_start", index=index, kind=kind)
    send("content_delta", index=index, delta={delta: text})
    send("content_stop", index=index)


request = json.load(sys.stdin.buffer)
newest = request["messages"][-1]
send("message_start", v=1, role="assistant", model=request["model"])
if newest["role"] == "user":
    block(0, {"text": {}}, "text_delta", "I look around.")
    block(1, {"tool_use": {"id": "look", "name": "bash"}}, "json_delta", json.dumps({"command": "ls"}))
    send("finish", reason="tool_use")
else:
    result = newest["content"][-1]
    text = "".join(part["text"] for part in result["content"])
    block(0, {"text": {}}, "text_delta", "The look failed." if result["is_error"] else f"I got: {text}")
    send("finish", reason="stop")
send("end")
