import { cp, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exec, removeDirectory, root, temporaryDirectory } from "#test/support/slipway.ts";

interface Stderr {
  readonly isTTY?: boolean;
  readonly write: (text: string) => unknown;
}
type After = (act: () => void, ms: number) => () => void;
// Scripts are JavaScript, so that they run before anything is built.
const scripts = (await import(join(root, "scripts/tell-build.mjs"))) as {
  readonly tellBuild: (stderr: Stderr, after: After) => () => void;
};
const { tellBuild } = scripts;

let clone: string;
beforeEach(async () => {
  clone = await temporaryDirectory();
});
afterEach(() => removeDirectory(clone));

/** As much of a clone as `scripts/slipway.mjs` looks at, with programs of a line each. */
async function smallClone(): Promise<void> {
  for (const part of ["scripts", "bin", "package.json", "go/built"])
    await cp(join(root, part), join(clone, part), { recursive: true });
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  const entries = {
    "src/app/cli/main.ts": 'process.stdout.write("from main\\n");',
    "src/kernel/runtimes/process/runner/main.ts": "",
    "src/kernel/apiserver/http/yaml-reader-program.ts": "",
    "src/kernel/template/thread-program.ts": "",
    "src/engine/index.ts": "export const a = 1;",
    "src/kernel/kit/index.ts": "export const b = 1;",
  };
  for (const [path, text] of Object.entries(entries)) {
    await mkdir(dirname(join(clone, path)), { recursive: true });
    await writeFile(join(clone, path), text);
  }
  const parts = 'export const cli = "src/app/cli/main.ts";\nexport const parts = { cli: [cli], rest: [] };\n';
  await writeFile(join(clone, "scripts/program-parts.mjs"), parts);
}

const run = (...args: string[]) =>
  exec(process.execPath, args, { cwd: clone, env: { HOME: clone, XDG_CACHE_HOME: clone } });
const runClone = () => run("scripts/slipway.mjs");

/** Builds a program of two parts, each of which says the name. */
async function buildNamed(name: string): Promise<void> {
  const late = `process.stdout.write("the rest of ${name}\\n");`;
  await writeFile(join(clone, "src/app/cli/late.ts"), `${late} export {};`);
  await writeFile(join(clone, "src/app/cli/main.ts"), `process.stdout.write("${name}, "); void import("./late.ts");`);
  expect((await runClone()).out).toBe(`${name}, the rest of ${name}\n`);
}

test("stdout of a clone that is built first is the program's alone, and stderr says at most that it is built", async () => {
  await smallClone();
  const first = await runClone();
  expect(first, first.err).toMatchObject({ code: 0, out: "from main\n" });
  expect(first.err).toMatch(/^(?:slipway: building from the sources, which takes some seconds\.\.\.\n)?$/);
  expect(await runClone()).toEqual({ code: 0, out: "from main\n", err: "" });
});

test("a program that is replaced while it starts has all its parts of the same build", async () => {
  await smallClone();
  await buildNamed("the new build");
  await rename(join(clone, "dist"), join(clone, "next"));
  await buildNamed("the old build");
  // Replaces all as soon as the first file of the program is open.
  const replace = `
    const fs = require("node:fs");
    const { openSync } = fs;
    fs.openSync = (...args) => {
      const fd = openSync(...args);
      fs.openSync = openSync;
      fs.renameSync("dist", "former");
      fs.renameSync("next", "dist");
      return fd;
    };`;
  await writeFile(join(clone, "replace.cjs"), replace);
  const replaced = await run("--require", "./replace.cjs", "bin/slipway.cjs");
  expect(replaced).toEqual({ code: 0, out: "the old build, the rest of the old build\n", err: "" });
  expect((await run("bin/slipway.cjs")).out).toBe("the new build, the rest of the new build\n");
});

test("that a clone is built is told at once in a terminal, and elsewhere when it takes more than a second", () => {
  const said: string[] = [];
  const write = (text: string) => said.push(text);
  const timers: (readonly [() => void, number])[] = [];
  const after = (act: () => void, ms: number) => {
    const timer = [act, ms] as const;
    timers.push(timer);
    return () => void timers.splice(timers.indexOf(timer), 1);
  };
  tellBuild({ isTTY: true, write }, after)();
  expect([said.length, timers.length]).toEqual([1, 0]);
  tellBuild({ write }, after)();
  expect([said.length, timers.length]).toEqual([1, 0]);
  tellBuild({ write }, after);
  const [[act, ms] = []] = timers;
  expect(ms).toBe(1000);
  act?.();
  expect(said).toHaveLength(2);
  expect(said[1]).toContain("building");
});
