"use strict";
// Apart from the launcher, because `import()` is a syntax error on the Nodes the launcher must still answer.
var url = require("url");

/** Loads the bundle at `file`; a bundle that does not load is one message and exit code 1. */
module.exports = function load(file) {
	import(url.pathToFileURL(file).href).catch(function (error) {
		process.stderr.write("lernie: cannot start: " + ((error && error.stack) || error) + "\n");
		process.exitCode = 1;
	});
};
