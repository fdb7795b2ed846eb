// The command line from a clone: brings dist/ up to date, then runs it in this process.
import { bundle } from "./build.mjs";

await bundle();
process.argv[1] = new URL("../bin/slipway.mjs", import.meta.url).pathname;
await import("../bin/slipway.mjs");
