#!/usr/bin/env node
"use strict";
// ES5 only: an old Node must get as far as the message below.
var fs = require("fs");
var path = require("path");

var bundle = path.join(__dirname, "..", "dist", "cli.mjs");
var running = process.versions.node;
var parts = running.split(".");
var major = Number(parts[0]);
var minor = Number(parts[1]);

if (major < 22 || (major === 22 && minor < 18)) {
	process.stderr.write(
		"lernie: needs Node 22.18 or newer, this is Node " +
			running +
			". Install Node 24, or use `npm run` and `npx lernie` in the repository: they bring their own.\n"
	);
	process.exitCode = 1;
} else if (process.argv.length === 3 && process.argv[2] === "--version") {
	// Answered here, without the bundle: tools ask for the version on every start.
	process.stdout.write("lernie " + require("../package.json").version + "\n");
} else if (!fs.existsSync(bundle)) {
	process.stderr.write("lernie: not built: " + bundle + " does not exist. Run `npm ci` in the repository.\n");
	process.exitCode = 1;
} else {
	require("./load.cjs")(bundle);
}
