import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exec, removeDirectory, slipwayBin, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  // Records, when the command ends, which of Node's modules and which other files it has loaded, and whether its code was compiled before.
  const tell = `
    const vm = require("node:vm");
    const programs = [];
    vm.Script = class extends vm.Script {
      constructor(source, options) {
        super(source, options);
        programs.push({ file: options.filename, isCompiled: this.cachedDataRejected === false });
      }
    };
    process.on("exit", () => require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify({ node: process.moduleLoadList, files: Object.keys(require.cache), programs })));`;
  await writeFile(join(directory, "tell.cjs"), tell);
  const collections =
    'let count = 0; const watch = new (require("node:perf_hooks").PerformanceObserver)((list) => { count += list.getEntries().length; }); watch.observe({ entryTypes: ["gc"] }); process.on("exit", () => require("node:fs").writeFileSync(process.env.COLLECTIONS, String(count + watch.takeRecords().length)));';
  await writeFile(join(directory, "collections.cjs"), collections);
});

afterAll(() => removeDirectory(directory));

/** What a command loads besides what an empty program does. */
interface Loaded {
  readonly node: readonly string[];
  readonly files: readonly string[];
  readonly programs: readonly { readonly file: string; readonly isCompiled: boolean }[];
}

async function loadedBy(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Loaded> {
  const tell = join(directory, "tell.cjs");
  const out = join(directory, "loaded.json");
  const env = { LOADED: out, HOME: directory, TMPDIR: directory, ...more };
  const run = await exec(process.execPath, ["--require", tell, slipwayBin, ...args], { env });
  expect(run.code, run.err).toBe(0);
  const { node, files, programs } = JSON.parse(await readFile(out, "utf8")) as Loaded;
  return {
    node: node.map((name) => name.replace(/^NativeModule /, "")),
    files: files.filter((file) => file !== tell).map((file) => basename(file)),
    programs: programs.map(({ file, isCompiled }) => ({ file: basename(file), isCompiled })),
  };
}

const network = ["http", "https", "http2", "tls", "_tls_wrap"];

test.each([
  ["help.cjs", ["version"]],
  ["help.cjs", ["--help"]],
  ["slipway.cjs", ["tink", "--help"]],
  ["slipway.cjs", ["completion", "bash"]],
  ["slipway.cjs", ["complete", "--", "ru"]],
  ["slipway.cjs", ["wharf", "vars", "list", "examples/wharf"]],
  ["slipway.cjs", ["lint", "examples/workflow/hello.yaml"]],
  ["slipway.cjs", ["run", "--runtime", "host", "examples/wharf/hello"]],
  ["slipway.cjs", ["run", "--ephemeral", "examples/workflow/hello.yaml"]],
])("%s is all that %j loads: nothing of the network, the storage engine or certificates", async (program, args) => {
  const { node, files, programs } = await loadedBy(args);
  expect(programs.map(({ file }) => file)).toEqual([program]);
  expect(files).toEqual(["slipway.cjs"]);
  expect(node.filter((name) => network.includes(name))).toEqual([]);
});

test("a command starts from the code that the one before has compiled, in a private directory of its user", async () => {
  const places = [
    { NODE_COMPILE_CACHE: join(directory, "given") },
    { NODE_COMPILE_CACHE: "", XDG_CACHE_HOME: join(directory, "cache") },
    { NODE_COMPILE_CACHE: "", HOME: await mkdtemp(join(directory, "home-")) },
  ];
  const isCompiled = async (env: Readonly<Record<string, string>>) =>
    (await loadedBy(["lint", "examples/workflow/hello.yaml"], env)).programs[0]?.isCompiled;
  for (const env of places) expect([await isCompiled(env), await isCompiled(env)]).toEqual([false, true]);
  const kept = join(directory, "given/slipway-code");
  // V8 would take the code of another version of Node.js with the same V8, and crash.
  expect(await readdir(kept)).toEqual([
    expect.stringMatching(`^[0-9a-f]{16}-${process.version}-${process.arch}-lint$`),
  ]);
  await chmod(kept, 0o777);
  expect(await isCompiled(places[0] ?? {})).toBe(false);
});

test("a command that opens no file does without the module that other commands open theirs with", async () => {
  expect((await loadedBy(["version"])).node).not.toContain("fs/promises");
});

test("a run's young generation grows at once: a handful of collections, where there were ten", async () => {
  const out = join(directory, "collections.txt");
  const args = [
    "--require",
    join(directory, "collections.cjs"),
    slipwayBin,
    "run",
    "--ephemeral",
    "examples/workflow/hello.yaml",
  ];
  const run = await exec(process.execPath, args, { env: { COLLECTIONS: out, HOME: directory } });
  expect(run.code, run.err).toBe(0);
  const count = Number(await readFile(out, "utf8"));
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(5);
});

test("a server that no agent has called has loaded neither gRPC nor HTTP/2", async () => {
  const out = join(directory, "server.json");
  const env = { NODE_OPTIONS: `--require ${join(directory, "tell.cjs")}`, LOADED: out };
  const server = await startServer(join(directory, "listening"), ["--tink-listen", "127.0.0.1:0"], env);
  expect(server.printed()).toContain("agents of Tinkerbell at 127.0.0.1:");
  await expect.poll(() => server.log()).toMatch(/"address":"127\.0\.0\.1:[1-9]\d*","msg":"agents are served"/);
  await server.stop();
  const { node, files } = JSON.parse(await readFile(out, "utf8")) as { node: string[]; files: string[] };
  expect(files.map((file) => basename(file)).filter((file) => file.includes("grpc"))).toEqual([]);
  expect(node).not.toContain("NativeModule http2");
});

test("a server that was asked to end has kept what it compiled, for the next one", async () => {
  const home = await mkdtemp(join(directory, "home-"));
  const env = { HOME: home, NODE_COMPILE_CACHE: join(home, "cache") };
  const kept = () => readdir(join(home, "cache/slipway-code")).catch(() => []);
  const first = await startServer(join(home, "data"), [], env);
  expect(await kept()).toEqual([]);
  expect(await first.stop()).toBe(0);
  const code = await kept();
  expect(code.filter((name) => !name.endsWith("-up"))).toEqual([]);
  expect(code).not.toEqual([]);
  const next = await startServer(join(home, "data"), [], env);
  expect(await next.stop()).toBe(0);
  expect(await kept()).toEqual(code);
});

test("a server that has run nothing is one process", async () => {
  const data = join(directory, "data");
  const server = await startServer(data);
  try {
    await expect.poll(() => server.log()).toContain("serving");
    // Whoever starts the runner of host steps makes its directory first.
    expect(existsSync(join(data, "runner"))).toBe(false);
  } finally {
    await server.stop();
  }
});
