// The versions of Node.js that the platform tests run on, from npm's packages of its binaries.
//   node scripts/node-versions.mjs         installs what is missing
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cache = fileURLToPath(new URL("../node_modules/.cache/test-tools/node", import.meta.url));

/** The oldest that is supported, then one of each later line. */
export const nodeVersions = ["20.19.0", "22.23.3", "24.21.0", "26.10.0"];

/** The folder of a version's `node`. */
export const nodeFolder = (version) => `${cache}/${version}/package/bin`;

/** Installs the versions that are missing. Returns whether all are there. */
export function ensureNodeVersions() {
  const missing = nodeVersions.filter((version) => !existsSync(nodeFolder(version)));
  if (missing.length === 0) return true;
  mkdirSync(cache, { recursive: true });
  const packages = missing.map((version) => `node-${process.platform}-${process.arch}@${version}`);
  const packed = spawnSync("npm", ["pack", "--silent", ...packages], { cwd: cache, encoding: "utf8" });
  process.stderr.write(packed.stderr);
  return packed.status === 0 && packed.stdout.trim().split("\n").every(unpack);
}

function unpack(archive) {
  const folder = `${cache}/${archive.replace(/^.*-|\.tgz$/g, "")}`;
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync("tar", ["-xzf", `../${archive}`, "package/bin/node"], { cwd: folder, stdio: "inherit" });
  rmSync(`${cache}/${archive}`);
  return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = ensureNodeVersions() ? 0 : 1;
