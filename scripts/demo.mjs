// `npm run demo`: the real example, live, and what it has made.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { bundle } from "./build.mjs";

const out = "examples/workflow/release/out";

await bundle();
rmSync(out, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, ["bin/slipway.cjs", "run", "examples/workflow/release/release.yaml"], {
  stdio: "inherit",
});
if (status === 0) {
  console.log(`\n${out} holds ${readdirSync(out).sort().join(", ")}; SHA256SUMS says`);
  console.log(readFileSync(`${out}/SHA256SUMS`, "utf8").trimEnd());
}
process.exitCode = status ?? 1;
