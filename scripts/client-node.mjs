// Kubernetes' own JavaScript client, which the conformance suite drives, installed apart from Slipway's packages.
//   node scripts/client-node.mjs           installs it as its lock file says
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const home = fileURLToPath(new URL("../node_modules/.cache/test-tools/client-node", import.meta.url));
const manifest = fileURLToPath(new URL("../test/conformance/kubernetes/client-node", import.meta.url));
const files = ["package.json", "package-lock.json"];

const isCurrent = () =>
  existsSync(`${home}/node_modules/.package-lock.json`) &&
  files.every((file) => existsSync(`${home}/${file}`) && same(`${home}/${file}`, `${manifest}/${file}`));
const same = (a, b) => readFileSync(a).equals(readFileSync(b));

/** Installs the client unless it is there. Returns whether it is. */
export function ensureClientNode() {
  if (isCurrent()) return true;
  mkdirSync(home, { recursive: true });
  for (const file of files) copyFileSync(`${manifest}/${file}`, `${home}/${file}`);
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  return spawnSync("npm", args, { cwd: home, stdio: "inherit" }).status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = ensureClientNode() ? 0 : 1;
