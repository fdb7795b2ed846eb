import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exec, removeDirectory, slipwayBin, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  // Tells, when the command ends, which of Node's modules, which files and which parts of the program it has loaded.
  const tell = `
    const vm = require("node:vm");
    const parts = [];
    vm.Script = class extends vm.Script {
      constructor(source, options) {
        super(source, options);
        parts.push(options.filename);
      }
    };
    process.on("exit", () => require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify({ node: process.moduleLoadList, files: Object.keys(require.cache), parts })));`;
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
  /** Of the program, in the order of their names. */
  readonly parts: readonly string[];
}

async function loadedBy(args: readonly string[]): Promise<Loaded> {
  const tell = join(directory, "tell.cjs");
  const out = join(directory, "loaded.json");
  const env = { LOADED: out, HOME: directory, TMPDIR: directory };
  const run = await exec(process.execPath, ["--require", tell, slipwayBin, ...args], { env });
  expect(run.code, run.err).toBe(0);
  const loaded = JSON.parse(await readFile(out, "utf8")) as Loaded;
  return {
    node: loaded.node.map((name) => name.replace(/^NativeModule /, "")),
    files: loaded.files.filter((file) => file !== tell).map((file) => basename(file)),
    parts: loaded.parts.map((file) => basename(file, ".cjs")).sort(),
  };
}

const network = ["http", "https", "http2", "tls", "_tls_wrap"];

test.each<[args: string[], parts: string[], packages?: string[]]>([
  [["version"], ["cli"]],
  [["--help"], ["cli"]],
  [["tink", "--help"], ["cli"]],
  [["completion", "bash"], ["cli"], ["bomb.sh-tab.cjs"]],
  [["complete", "--", "ru"], ["cli"], ["bomb.sh-tab.cjs"]],
  [
    ["wharf", "vars", "list", "examples/wharf"],
    ["builds", "cli", "documents"],
  ],
  [
    ["lint", "examples/workflow/hello.yaml"],
    ["builds", "cli", "documents"],
  ],
  [
    ["run", "--runtime", "host", "examples/wharf/hello"],
    ["builds", "cli"],
  ],
  [
    ["run", "--ephemeral", "examples/workflow/hello.yaml"],
    ["builds", "cli", "documents", "server"],
  ],
])(
  "%j loads %j of the program, and nothing of the network, the store's engine or certificates",
  async (args, ofProgram, packages = []) => {
    const { node, files, parts } = await loadedBy(args);
    expect(parts).toEqual(ofProgram);
    expect(files).toEqual(["slipway.cjs", ...packages]);
    expect(node.filter((name) => network.includes(name))).toEqual([]);
  },
);

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
  await expect.poll(() => server.log()).toContain("agents are served");
  await server.stop();
  const { node, files } = JSON.parse(await readFile(out, "utf8")) as { node: string[]; files: string[] };
  expect(files.map((file) => basename(file)).filter((file) => file.includes("grpc"))).toEqual([]);
  expect(node).not.toContain("NativeModule http2");
});

test("a server that was asked to end has kept what it compiled, for the next one", async () => {
  const home = join(directory, "home");
  const env = { HOME: home, XDG_CACHE_HOME: join(home, "cache") };
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
