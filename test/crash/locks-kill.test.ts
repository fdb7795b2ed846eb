import { seededRandom } from "#kernel/kit/testing/index.ts";
import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// A server is killed with its whole process group while locks are held and queued for, and started again: what its steps write themselves
// shows that never more of them were under a lock than it has places, and in the end everything has run once and nothing is held.
// SLIPWAY_CRASH_SEED repeats the moments of an earlier run.

const group = "/apis/slipway.dev/v1alpha1/namespaces/default";
const kills = rounds(2, 50);
const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? randomInt(2 ** 31));
const random = seededRandom(seed);

/** Places of the locks; of `x` and of the key nobody writes a limit. */
const places = { x: 1, y: 2, key: 1 } as const;
const runs = ["r0", "r1", "r2", "r3"];
/** Each run has these, side by side; the first two runs share a key. */
const stepLocks: Readonly<Record<string, readonly ("x" | "y")[]>> = { a: ["x"], b: ["y"], c: ["x", "y"], d: ["y"] };

let directory = "";
let server: TestServer | undefined;
let api: Api | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
});

afterEach(async () => {
  api?.close();
  await server?.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

async function start(): Promise<Api> {
  server = await startServer(directory);
  api?.close();
  api = await connectApi(server.url, server.kubeconfig);
  return api;
}

async function post(to: Api, kind: string, plural: string, name: string, spec: object): Promise<void> {
  const body = { apiVersion: "slipway.dev/v1alpha1", kind, metadata: { name }, spec };
  const answer = await to.ask("POST", `${group}/${plural}`, body);
  expect(answer.status, answer.text).toBe(201);
}

/** One line when it comes under its locks and one when it leaves them, each of one write. */
const script = 'echo "+ $LOCKS $NAME" >>"$FILE"; sleep 0.05; echo "- $LOCKS $NAME" >>"$FILE"';

function specOf(run: string, file: string): object {
  const isKeyed = run === "r0" || run === "r1";
  const step = ([key, locks]: readonly [string, readonly string[]]): [string, object] => {
    const held = [...locks, ...(isKeyed ? [`key:${run}`] : [])].join(",");
    const env = Object.entries({ FILE: file, LOCKS: held, NAME: `${run}/${key}` }).map(([name, value]) => ({
      name,
      value,
    }));
    const container = { image: "busybox", command: ["sh", "-c", script], env };
    return [key, { container, locks: locks.map((name) => ({ name })) }];
  };
  return {
    activeDeadlineSeconds: 300,
    ...(isKeyed ? { concurrency: { key: "shared" } } : {}),
    steps: Object.fromEntries(Object.entries(stepLocks).map(step)),
  };
}

/** Follows what was written: who is under which lock after each line. */
function checkLines(lines: readonly string[], which: string): void {
  const inside = new Map<string, string[]>();
  for (const line of lines) {
    const [sign, locks = "", name = ""] = line.split(" ");
    for (const lock of locks.split(",")) {
      const holder = lock.startsWith("key:") ? lock : name;
      const base = lock.startsWith("key:") ? "key" : lock;
      const now = inside.get(base) ?? [];
      if (sign === "+") now.push(holder);
      else now.splice(now.indexOf(holder), 1);
      inside.set(base, now);
    }
    for (const [lock, most] of Object.entries(places))
      expect(new Set(inside.get(lock)).size, `${lock} after "${line}" in ${which}`).toBeLessThanOrEqual(most);
  }
}

const linesOf = async (file: string): Promise<readonly string[]> =>
  (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");

async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  const end = systemClock.monotonic() + 120_000;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (systemClock.monotonic() > end) throw new Error(`not in time: ${JSON.stringify(seen)}\n${server?.log() ?? ""}`);
    await sleep(systemClock, 10);
  }
}

interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly phase?: string; readonly held?: number };
  }[];
}

const list = async (from: Api, plural: string): Promise<Listed["items"]> => {
  const { status, text } = await from.ask("GET", `${group}/${plural}`);
  expect(status, text).toBe(200);
  return (JSON.parse(text) as Listed).items;
};

test(`locks that are held and queued for survive a kill -9 of the server, ${kills} times`, {
  timeout: kills * 60_000,
}, async () => {
  let now = await start();
  await post(now, "ConcurrencyLimit", "concurrencylimits", "y", { limit: places.y });
  const steps = runs.length * Object.keys(stepLocks).length;
  for (let round = 0; round < kills; round++) {
    const file = join(directory, `${round}.txt`);
    const names = runs.map((run) => `${run}-${round}`);
    for (const [at, run] of runs.entries())
      await post(now, "Workflow", "workflows", names[at] ?? "", specOf(run, file));
    // In the first rounds before anything has begun, later ever nearer to the end.
    const lines = Math.floor((round / kills) * steps * 2);
    await until(
      () => linesOf(file),
      (seen) => seen.length >= lines,
    );
    await sleep(systemClock, random() * 40);
    await server?.kill();
    now = await start();
    const current = now;
    const ended = await until(
      async () => (await list(current, "workflows")).filter(({ metadata }) => names.includes(metadata.name)),
      (found) => found.every(({ status }) => status?.phase === "Succeeded"),
    );
    const written = await linesOf(file);
    const which = `round ${round}, seed ${seed}: ${JSON.stringify({ written, ended })}`;
    checkLines(written, which);
    expect(
      written.filter((line) => line.startsWith("+")),
      which,
    ).toHaveLength(steps);
    await until(
      () => list(current, "concurrencylimits"),
      (limits) => limits.every(({ status }) => (status?.held ?? 0) === 0),
    );
  }
});
