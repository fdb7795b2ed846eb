// The command line from a clone: rebuilds dist/ when a source has changed, then runs the program in this process.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.mjs";

// Only for people: a program may read stderr, and stdout belongs to the command.
const onBuild = () => {
  if (process.stderr.isTTY) process.stderr.write("slipway: compiling the sources...\n");
};
await bundle({ onBuild });
process.argv[1] = fileURLToPath(new URL("../bin/slipway.cjs", import.meta.url));
createRequire(import.meta.url)("../bin/slipway.cjs");
