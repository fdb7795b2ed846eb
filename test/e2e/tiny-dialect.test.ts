import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Finished, exec, root, startServer } from "#test/support/slipway.ts";
// @ts-expect-error The build is plain JavaScript.
import { programOptions } from "../../scripts/build.mjs";

// A dialect is its folder and its entry in src/dialects/index.ts: the program is built with one more entry, and everything else knows the dialect.

let directory: string;
let bin: string;
const slipway = (...args: readonly string[]): Promise<Finished> =>
  exec(process.execPath, [bin, ...args], { cwd: directory, env: { SLIPWAY_DATA_DIR: join(directory, "state") } });
const note = "apiVersion: tiny.example.org/v1\nkind: Note\nmetadata: {name: first}\nspec: {name: you}\n";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-tiny-"));
  bin = join(directory, "bin/slipway.cjs");
  await cp(join(root, "bin"), join(directory, "bin"), { recursive: true });
  await cp(join(root, "dist"), join(directory, "dist"), { recursive: true });
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  const list = join(root, "src/dialects/index.ts");
  const entry = `import { tiny } from "${root}test/support/tiny-dialect/index.ts";\n`;
  const withEntry = (await readFile(list, "utf8")).replace("workflow, tinkerbell", "tiny, workflow, tinkerbell");
  const options = programOptions("0.0.0-test");
  await build({
    ...options,
    write: true,
    allowOverwrite: true,
    entryPoints: [join(root, "src/app/cli/main.ts")],
    outfile: join(directory, "dist/slipway.cjs"),
    external: [...options.external],
    nodePaths: [join(root, "node_modules")],
    plugins: [
      ...options.plugins,
      {
        name: "one-more-dialect",
        setup: ({ onLoad }) =>
          onLoad({ filter: /src\/dialects\/index\.ts$/ }, () => ({
            contents: entry + withEntry,
            loader: "ts",
            resolveDir: join(root, "src/dialects"),
          })),
      },
    ],
  });
  await writeFile(join(directory, "note.yaml"), note);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

test("a dialect that is added by one entry has its verb, its documents and its runs", async () => {
  expect(await slipway("tiny", "you")).toMatchObject({ code: 0, out: "hello, you\n" });
  expect((await slipway("complete", "--", "tin")).out).toContain("tiny");
  await writeFile(join(directory, "wrong.yaml"), note.replace("{name: you}", "{}"));
  const wrong = await slipway("lint", "wrong.yaml");
  expect(wrong).toMatchObject({ code: 2 });
  expect(wrong.out + wrong.err).toContain("spec.name: a note needs a name");
  expect(await slipway("run", "note.yaml")).toMatchObject({ code: 0 });
  expect((await slipway("crds", "tiny")).out).toContain("notes.tiny.example.org");
});

test("its option reaches its controller in `slipway up`, and its kind is served to clients", async () => {
  expect((await slipway("up", "--tiny-greeting", "ave")).err).toContain("--tiny-greeting: expected hello or salve");
  const state = join(directory, "state");
  const server = await startServer(state, ["--tiny-greeting", "salve"], {}, [process.execPath, bin]);
  try {
    expect(await slipway("run", "note.yaml")).toMatchObject({ code: 0 });
    expect((await slipway("get", "notes")).out).toContain("salve, you");
  } finally {
    await server.stop();
  }
});
