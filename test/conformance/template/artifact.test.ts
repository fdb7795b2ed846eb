import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { moduleMemoryMb } from "#kernel/template/index.ts";
import { exec, root } from "#test/support/slipway.ts";

const build = (...args: readonly string[]) =>
  exec(process.execPath, [join(root, "scripts/build-template.mjs"), ...args], {
    env: { HOME: process.env["HOME"] ?? "" },
  });

test("the committed template module is the one that these sources were built into", async () => {
  expect(await build("--stale")).toMatchObject({ code: 0, err: "" });
});

test("users are told of the memory that the module was built with", () => {
  const manifest = JSON.parse(readFileSync(join(root, "go/built/template.json"), "utf8")) as { memoryMb: number };
  expect(moduleMemoryMb).toBe(manifest.memoryMb);
});

/** Why the module cannot be built again here; empty when it can. */
function whyNotHere(): string {
  const wanted = (JSON.parse(readFileSync(join(root, "go/built/template.json"), "utf8")) as { go: string }).go;
  try {
    const found = execFileSync("go", ["env", "GOVERSION"], { cwd: join(root, "go"), encoding: "utf8" }).trim();
    return found === wanted ? "" : ` (left out: needs ${wanted}, here is ${found})`;
  } catch {
    return ` (left out: needs ${wanted}, there is no Go here)`;
  }
}

const reason = whyNotHere();

test.skipIf(reason !== "")(
  `the same sources in another directory build the same module, byte for byte${reason}`,
  { timeout: 600_000 },
  async () => {
    expect(await build("--check")).toMatchObject({ code: 0, err: "" });
  },
);
