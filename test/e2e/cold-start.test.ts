import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exec, removeDirectory, slipwayBin, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  // Tells, when the command ends, which of Node's modules and which files it has loaded.
  const tell =
    'process.on("exit", () => require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify({ node: process.moduleLoadList, files: Object.keys(require.cache) })));';
  await writeFile(join(directory, "tell.cjs"), tell);
  const collections =
    'let count = 0; const watch = new (require("node:perf_hooks").PerformanceObserver)((list) => { count += list.getEntries().length; }); watch.observe({ entryTypes: ["gc"] }); process.on("exit", () => require("node:fs").writeFileSync(process.env.COLLECTIONS, String(count + watch.takeRecords().length)));';
  await writeFile(join(directory, "collections.cjs"), collections);
});

afterAll(() => removeDirectory(directory));

/** What a command loads besides what an empty program does. */
async function loadedBy(
  args: readonly string[],
): Promise<{ readonly node: readonly string[]; readonly files: readonly string[] }> {
  const tell = join(directory, "tell.cjs");
  const out = join(directory, "loaded.json");
  const env = { LOADED: out, HOME: directory, TMPDIR: directory };
  const run = await exec(process.execPath, ["--require", tell, slipwayBin, ...args], { env });
  expect(run.code, run.err).toBe(0);
  const { node, files } = JSON.parse(await readFile(out, "utf8")) as { node: string[]; files: string[] };
  return {
    node: node.map((name) => name.replace(/^NativeModule /, "")),
    files: files.filter((file) => file !== tell).map((file) => basename(file)),
  };
}

const network = ["http", "https", "http2", "tls", "_tls_wrap"];

test.each([
  [["version"]],
  [["--help"]],
  [["tink", "--help"]],
  [["wharf", "vars", "list", "examples/wharf"]],
  [["lint", "examples/workflow/hello.yaml"]],
  [["run", "--runtime", "host", "examples/wharf/hello"]],
])("%j loads one bundle and nothing of the network", async (args) => {
  const { node, files } = await loadedBy(args);
  expect(files).toEqual(["slipway.cjs"]);
  expect(node.filter((name) => network.includes(name))).toEqual([]);
});

test("a run on a control plane of its own loads neither the store's engine, nor certificates, nor TLS", async () => {
  const { node, files } = await loadedBy(["run", "--ephemeral", "examples/workflow/hello.yaml"]);
  expect(files).toEqual(["slipway.cjs"]);
  expect(node.filter((name) => network.includes(name))).toEqual([]);
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
  expect(await first.stop()).toBe(143);
  expect(await kept()).toEqual([expect.stringMatching(/-up$/)]);
  const next = await startServer(join(home, "data"), [], env);
  expect(await next.stop()).toBe(143);
  expect(await kept()).toHaveLength(1);
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
