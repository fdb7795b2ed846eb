// The command line from a clone: brings dist/ up to date, then runs it in this process.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { bundle } from "./build.mjs";

await bundle();
process.argv[1] = fileURLToPath(new URL("../bin/slipway.cjs", import.meta.url));
createRequire(import.meta.url)("../bin/slipway.cjs");
