#!/usr/bin/env node
"use strict";
// The shipped tool control: reads pass, the workspace's own files are refused, everything else waits for a person.
// One request on stdin, one verdict on stdout, exit 0; a request that cannot be read gets no verdict and exit 2. ES5 only.
var crypto = require("crypto");
var fs = require("fs");
var path = require("path");

// multi_tool only carries calls, and each of those is asked about by itself.
var PASSED = ["read_file", "cd", "message", "multi_tool"];
// repo.git anywhere; steps and approved as a part of a path, which prose such as "next steps" is not.
var OWN_FILES = /repo\.git|\/(?:steps|approved)(?![\w-])|(?:^|[^\w-])(?:steps|approved)\//;

function names(value) {
	if (typeof value === "string") return OWN_FILES.test(value);
	if (typeof value !== "object" || value === null) return false;
	return Object.keys(value).some(function (key) {
		return names(key) || names(value[key]);
	});
}

function isFile(file) {
	try {
		return fs.lstatSync(file).isFile();
	} catch (error) {
		return false;
	}
}

function judge(bytes, workspace) {
	var request = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
	[request.id, request.name, request.role, request.agent_id, workspace].forEach(function (text) {
		if (typeof text !== "string") throw new Error("a field is missing");
	});
	if (!("input" in request)) throw new Error("there is no input");
	if (names(request.input)) {
		return {
			verdict: "refuse",
			reason: "repo.git, steps and approved of a workspace belong to the harness and its operator"
		};
	}
	var digest = crypto.createHash("sha256").update(bytes).digest("hex");
	if (PASSED.indexOf(request.name) !== -1 || isFile(path.join(workspace, "approved", digest)))
		return { verdict: "pass" };
	return { verdict: "hold", reason: "waiting for " + path.join(workspace, "approved", digest.slice(0, 12)) + "\u2026" };
}

try {
	process.stdout.write(JSON.stringify(judge(fs.readFileSync(0), process.env.LERNIE_CONV_REPO)) + "\n");
} catch (error) {
	process.exitCode = 2;
}
