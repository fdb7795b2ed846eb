import { cp, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exec, removeDirectory, root, temporaryDirectory } from "#test/support/slipway.ts";

let clone: string;
beforeEach(async () => {
  clone = await temporaryDirectory();
});
afterEach(() => removeDirectory(clone));

/** As much of a clone as `scripts/slipway.mjs` looks at, with programs of a line each. */
async function smallClone(): Promise<void> {
  for (const part of ["scripts", "bin", "package.json", "go/built", "src/app/ui/page/style"])
    await cp(join(root, part), join(clone, part), { recursive: true });
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  const entries = {
    "src/app/cli/main.ts": 'process.stdout.write("from main\\n");',
    "src/kernel/runtimes/process/runner/main.ts": "",
    "src/kernel/apiserver/http/yaml-reader-program.ts": "",
    "src/kernel/template/thread-program.ts": "",
    "src/kernel/couriers/program.ts": "",
    "src/app/ui/page/main.tsx": "export const page = 1;",
    "src/app/ui/page/graph/worker.ts": "export const worker = 1;",
    "src/engine/index.ts": "export const a = 1;",
    "src/kernel/kit/index.ts": "export const b = 1;",
  };
  for (const folder of ["packages", "definitions/shipped"])
    await mkdir(join(clone, "src/dialects/vela", folder), { recursive: true });
  for (const [path, text] of Object.entries(entries)) {
    await mkdir(dirname(join(clone, path)), { recursive: true });
    await writeFile(join(clone, path), text);
  }
}

const run = (...args: string[]) =>
  exec(process.execPath, args, { cwd: clone, env: { HOME: clone, XDG_CACHE_HOME: clone } });
const runClone = () => run("scripts/slipway.mjs");

test("a clone that is built first prints only what its program prints", async () => {
  await smallClone();
  for (const _ of ["built", "up to date"]) expect(await runClone()).toEqual({ code: 0, out: "from main\n", err: "" });
});

test.each(["slipway", "demo"])("before npm ci, npm run %s says that and nothing else", async (script) => {
  await cp(join(root, "scripts"), join(clone, "scripts"), { recursive: true });
  const err = "slipway: its dependencies are not installed; run: npm ci\n";
  expect(await run(`scripts/${script}.mjs`)).toEqual({ code: 1, out: "", err });
});

test("a build leaves nothing of an earlier one", async () => {
  await smallClone();
  await runClone();
  const built = await filesOf(join(clone, "dist"));
  await mkdir(join(clone, "dist/chunks/old"), { recursive: true });
  for (const stale of ["slipway.parts", "chunks/old/chunk.mjs"]) await writeFile(join(clone, "dist", stale), "");
  expect((await run("scripts/build.mjs", "--force")).code).toBe(0);
  expect(await filesOf(join(clone, "dist"))).toEqual(built);
});

/** Files and folders, by their paths. */
const filesOf = async (folder: string) => (await readdir(folder, { recursive: true })).sort();
