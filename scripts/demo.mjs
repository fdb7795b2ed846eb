// `npm run demo`: the real example, live, and what it has made.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.mjs";

const out = "examples/workflow/release/out";

await bundle();
rmSync(out, { recursive: true, force: true });
// On a control plane of its own, whatever else runs here: the example's paths begin in this directory.
const run = (...words) =>
  spawnSync(process.execPath, ["bin/slipway.cjs", "run", "--ephemeral", ...words], { stdio: "inherit" });
const { status } = run("examples/workflow/release/release.yaml");
if (status === 0) {
  console.log(`\n${out} holds ${readdirSync(out).sort().join(", ")}; SHA256SUMS says`);
  console.log(readFileSync(`${out}/SHA256SUMS`, "utf8").trimEnd());
  if (process.stdout.isTTY) {
    console.log("\nNow a run to watch in the browser: open the link.\n");
    run("--ui", "examples/workflow/diamond.yaml");
  } else {
    console.log(`
Watch a run of your own in the browser:
  alias slipway="node ${fileURLToPath(new URL("slipway.mjs", import.meta.url))}"
  slipway run --ui examples/workflow/diamond.yaml    starts the run and prints a link to it
  slipway up                                         starts a server for all runs and prints a link to them`);
  }
}
process.exitCode = status ?? 1;
