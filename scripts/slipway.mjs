// The command line from a clone: brings dist/ up to date, then runs it in this process.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { bundle } from "./build.mjs";
import { tellBuild } from "./tell-build.mjs";

let isDone = () => undefined;
const after = (act, ms) => {
  const timer = setTimeout(() => act(), ms);
  return () => clearTimeout(timer);
};
// Nothing of it goes to stdout, which is the program's.
await bundle({ onBuild: () => (isDone = tellBuild(process.stderr, after)) });
isDone();
process.argv[1] = fileURLToPath(new URL("../bin/slipway.cjs", import.meta.url));
createRequire(import.meta.url)("../bin/slipway.cjs");
