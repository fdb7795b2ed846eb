// What a host step costs through the runner process, against a bare spawn; and how fast its output is taken in.
//   node bench/runner-spawn.mjs [STEPS]
// Candidates alternate round by round; printed are minimum, median and maximum per step, and lines per second.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const steps = Number(process.argv[2] ?? 100);
const rounds = 7;
const lines = 600_000;
const root = fileURLToPath(new URL("..", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "slipway-bench-"));

await build({
  absWorkingDir: root,
  entryPoints: {
    runner: "src/kernel/runtimes/process/runner/main.ts",
    runtimes: "src/kernel/runtimes/index.ts",
    base: "src/lib/base/index.ts",
  },
  outdir: directory,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
});
const load = (name) => import(pathToFileURL(join(directory, name)).href);
const { createProcessRuntime } = await load("runtimes.mjs");
const { silentLog, systemClock } = await load("base.mjs");
const runtime = createProcessRuntime({
  directory: join(directory, "runner"),
  runnerPath: join(directory, "runner.mjs"),
  nodePath: process.execPath,
  clock: systemClock,
  log: silentLog,
});

const ended = new Map();
runtime.subscribe(({ id, state }) => {
  if (state.phase === "ended") ended.get(id)?.(state.outcome);
});

function task(id, command) {
  return {
    id,
    command,
    env: { PATH: "/usr/bin:/bin" },
    workingDirectory: "/",
    logPath: join(directory, "logs", `${id}.log`),
  };
}

async function throughRunner(id, command) {
  const outcome = new Promise((resolve) => ended.set(id, resolve));
  await runtime.start(task(id, command));
  const { code } = await outcome;
  if (code !== 0) throw new Error(`${id} ended with ${code}`);
  ended.delete(id);
}

const bare = () =>
  new Promise((resolve, reject) => {
    const child = spawn("/bin/true", { stdio: ["ignore", "pipe", "pipe"] });
    child.once("error", reject);
    child.once("close", resolve);
  });

let count = 0;
async function timed(run) {
  const started = performance.now();
  for (let step = 0; step < steps; step++) await run();
  return (performance.now() - started) / steps;
}

function print(name, figures, unit) {
  const sorted = figures.toSorted((a, b) => a - b);
  const shown = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((figure) => figure.toFixed(2));
  console.log(`${name.padEnd(34)} ${shown.map((figure) => figure.padStart(9)).join(" ")} ${unit}`);
}

const times = { bare: [], runner: [] };
await timed(bare);
await timed(() => throughRunner(`warm-${count++}`, ["/bin/true"]));
for (let round = 0; round < rounds; round++) {
  times.bare.push(await timed(bare));
  times.runner.push(await timed(() => throughRunner(`step-${count++}`, ["/bin/true"])));
}
console.log(`${"".padEnd(34)} ${"min".padStart(9)} ${"median".padStart(9)} ${"max".padStart(9)}`);
print("bare spawn of /bin/true", times.bare, "ms");
print("step through the runner, durable", times.runner, "ms");
print(
  "ratio",
  times.runner.map((figure, round) => figure / times.bare[round]),
  "x",
);

const source = join(directory, "lines.txt");
await writeFile(source, `${"x".repeat(99)}\n`.repeat(lines));
await mkdir(join(directory, "logs"), { recursive: true });
const rates = [];
for (let round = 0; round < rounds; round++) {
  const id = `intake-${round}`;
  const started = performance.now();
  await throughRunner(id, ["cat", source]);
  rates.push(lines / (performance.now() - started) / 1000);
  // 140 bytes a record; the newest files of the rotation hold at most 50 MiB of it.
  const { size } = await stat(join(directory, "logs", `${id}.log`));
  const last = (await readFile(join(directory, "logs", `${id}.log`))).subarray(-100).toString();
  if (size === 0 || last !== `${"x".repeat(99)}\n`) throw new Error("the log does not hold what was printed");
}
print("log intake, 100-byte lines", rates, "M lines/s");
await runtime.close({ stopTasks: 0 });
await rm(directory, { recursive: true, force: true });
