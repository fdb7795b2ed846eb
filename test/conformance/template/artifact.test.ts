import { execFile, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { moduleMemoryMb } from "#kernel/template/index.ts";
import { cleanEnvironment, root } from "#test/support/slipway.ts";

const go = join(root, "go");
// Go keeps in the home directory what it has compiled and fetched.
const env = cleanEnvironment({ HOME: process.env["HOME"] ?? "" });

/** Rejects with what it complains of. From nothing, a build takes a minute on an idle machine. */
const build = (...args: readonly string[]) =>
  promisify(execFile)(process.execPath, [join(root, "scripts/build-template.mjs"), ...args], { env });

test("the committed template module is the one that these sources were built into", async () => {
  await expect(build("--stale")).resolves.toEqual({ stdout: "", stderr: "" });
});

test("users are told of the memory that the module was built with", () => {
  const manifest = JSON.parse(readFileSync(join(root, "go/built/template.json"), "utf8")) as { memoryMb: number };
  expect(moduleMemoryMb).toBe(manifest.memoryMb);
});

/** Why the module cannot be built again here; empty when it can. */
function whyNotHere(): string {
  const wanted = (JSON.parse(readFileSync(join(root, "go/built/template.json"), "utf8")) as { go: string }).go;
  try {
    const found = execFileSync("go", ["env", "GOVERSION"], { cwd: go, env, encoding: "utf8" }).trim();
    if (found !== wanted) return ` (left out: needs ${wanted}, here is ${found})`;
  } catch {
    return ` (left out: needs ${wanted}, there is no Go here)`;
  }
  try {
    execFileSync("go", ["mod", "download"], { cwd: go, env, stdio: "ignore", timeout: 60_000 });
    return "";
  } catch {
    return " (left out: the modules that it is made of are neither here nor to be fetched)";
  }
}

const reason = whyNotHere();

test.skipIf(reason !== "")(
  `the same sources in another directory build the same module, byte for byte${reason}`,
  { timeout: 600_000 },
  async () => {
    await expect(build("--check")).resolves.toMatchObject({ stdout: "" });
  },
);

test.skipIf(reason !== "")(`Go's sources are formatted as Go formats them${reason}`, async () => {
  const { stdout } = await promisify(execFile)("gofmt", ["-l", "."], { cwd: go, env });
  expect(stdout).toBe("");
});
