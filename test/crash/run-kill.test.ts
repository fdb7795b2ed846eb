import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { seededRandom } from "#kernel/kit/index.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";

// A server is killed with its whole process group at any moment of a run's life, and started again: the run ends as it would have, and
// each attempt of each step, item and round has run once. SLIPWAY_CRASH_SEED repeats the moments of an earlier run of this test, as closely as a
// clock can; SLIPWAY_CRASH_ROUNDS sets how often, in twenties: 200 before a release.

const layers = 10;
const width = 5;

/** Steps that are more than one child: a fan-out, a loop, and one whose first attempt fails. */
const special: Readonly<Record<string, { readonly more: object; readonly lines: readonly string[] }>> = {
  "s2-0": { more: { forEach: { items: ["a", "b", "c"], maxParallel: 2 } }, lines: ["[0]#1", "[1]#1", "[2]#1"] },
  "s3-1": { more: { repeat: { until: "iteration == 2" } }, lines: ["~1#1", "~2#2"] },
  "s4-2": { more: { retry: { limit: 1, initialSeconds: 0.1 } }, lines: ["#1", "#2"] },
};
const keys = Array.from({ length: layers * width }, (_, at) => `s${Math.floor(at / width)}-${at % width}`);
/** What all children together write, a line each; the final step after everything else. */
const expected = [...keys.flatMap((key) => (special[key]?.lines ?? ["#1"]).map((line) => key + line)), "report#1"];
const steps = expected.length;
const workflows = "/apis/slipway.dev/v1alpha1/namespaces/default/workflows";
const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? randomInt(2 ** 31));
const random = seededRandom(seed);

/** What a moment is told by. */
interface Run {
  /** Where its steps write a line each. */
  readonly file: string;
  readonly phase: () => Promise<string>;
}

/** Some of the rounds, and what the kill waits for in them once the create is answered. */
interface Moment {
  readonly title: string;
  readonly rounds: number;
  readonly come: (run: Run) => Promise<unknown>;
}

const within = (ms: number) => sleep(systemClock, random() * ms);
const written = ({ file }: Run, count: number) =>
  until(
    () => linesOf(file),
    (lines) => lines.length >= count,
  );

/** Most of them are at the two ends of a life: there a run is created and its end recorded, once each. */
const moments: readonly Moment[] = [
  { title: "with the answer", rounds: 3, come: () => Promise.resolve() },
  { title: "before the first step", rounds: 4, come: () => within(60) },
  {
    title: "at any moment",
    rounds: 6,
    come: async (run) => {
      await written(run, 1 + Math.floor(random() * (steps - 2)));
      await within(25);
    },
  },
  {
    title: "around the last step",
    rounds: 3,
    come: async (run) => {
      await written(run, steps - width);
      await within(20);
    },
  },
  {
    title: "before the end is recorded",
    rounds: 3,
    come: async (run) => {
      await written(run, steps);
      await within(100);
    },
  },
  {
    title: "with the end",
    rounds: 1,
    come: (run) =>
      until(
        () => run.phase(),
        (phase) => phase === "Succeeded",
      ),
  },
];
const twenties = Math.ceil(Number(process.env["SLIPWAY_CRASH_ROUNDS"] ?? 20) / 20);
const rounds = moments.flatMap((moment) => Array.from({ length: twenties * moment.rounds }, () => moment));
/** A round takes seconds, on the busiest machine half a minute. */
const timeout = rounds.length * 30_000;

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

async function start(): Promise<{ readonly server: TestServer; readonly api: Api }> {
  server = await startServer(directory);
  api?.close();
  api = await connectApi(server.url, server.kubeconfig);
  return { server, api };
}

/** Appends its name to the file; `s4-2` fails at its first attempt. */
const script = [
  'name="$SLIPWAY_STEP${SLIPWAY_INDEX:+[$SLIPWAY_INDEX]}${SLIPWAY_ITERATION:+~$SLIPWAY_ITERATION}#$SLIPWAY_ATTEMPT"',
  'echo "$name" >>"$FILE"; sleep 0.02; test "$name" != "s4-2#1"',
].join("; ");

/** Fifty steps in ten layers of five, each of which depends on two of the layer before, and a final one. */
function document(name: string, file: string): object {
  const container = { image: "busybox", command: ["sh", "-c", script], env: [{ name: "FILE", value: file }] };
  const byName = keys.map((key, at): [string, object] => {
    const [layer, index] = [Math.floor(at / width), at % width];
    const before = layer === 0 ? [] : [`s${layer - 1}-${index}`, `s${layer - 1}-${(index + 1) % width}`];
    return [key, { container, ...special[key]?.more, ...(before.length === 0 ? {} : { dependencies: before }) }];
  });
  return {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name },
    spec: { activeDeadlineSeconds: 300, steps: Object.fromEntries(byName), finally: { report: { container } } },
  };
}

const linesOf = async (file: string): Promise<string[]> => {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
};

/** Long enough for all steps of a run on the busiest machine. */
const patienceMs = 120_000;

async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  const end = systemClock.monotonic() + patienceMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (systemClock.monotonic() > end)
      throw new Error(`not within ${patienceMs / 1000} s: ${JSON.stringify(seen)}\n${server?.log() ?? ""}`);
    await sleep(systemClock, 5);
  }
}

interface Status {
  readonly phase?: string;
  readonly statuses?: Readonly<Record<string, { readonly phase: string; readonly attempt: number }>>;
}

async function statusOf(from: Api, name: string): Promise<Status> {
  const { status, text } = await from.ask("GET", `${workflows}/${name}`);
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { readonly status?: Status }).status ?? {};
}

test(`a run of ${keys.length} steps, with a fan-out, a loop and a retry, survives a kill -9 of the server at any moment of its life, ${rounds.length} times`, {
  timeout,
}, async () => {
  const struck: [title: string, lines: number][] = [];
  let now = await start();
  try {
    for (const [round, { title, come }] of rounds.entries()) {
      const name = `round-${round}`;
      const file = join(directory, `${name}.txt`);
      const { api: first } = now;
      const created = await first.ask("POST", workflows, document(name, file));
      expect(created.status, created.text).toBe(201);
      await come({ file, phase: async () => (await statusOf(first, name)).phase ?? "" });
      await now.server.kill();
      struck.push([title, (await linesOf(file)).length]);
      now = await start();
      const { api: second } = now;
      const end = await until(
        () => statusOf(second, name),
        ({ phase = "" }) => ["Succeeded", "Failed", "Canceled"].includes(phase),
      );
      const lines = await linesOf(file);
      const which = `${name}, killed ${title}, seed ${seed}: ${JSON.stringify({ lines, end })}`;
      expect(end.phase, which).toBe("Succeeded");
      expect(lines.toSorted(), `everything ran once in ${which}`).toEqual(expected.toSorted());
      expect(lines.at(-1), which).toBe("report#1");
      const settled = Object.values(end.statuses ?? {}).filter(({ phase }) => phase === "Succeeded");
      expect(settled, which).toHaveLength(keys.length + 1);
    }
  } finally {
    process.stderr.write(
      `run-kill: seed ${seed}; ${struck.map(([title, lines]) => `${title}: ${lines}`).join(", ")}\n`,
    );
  }
  const counts = struck.map(([, lines]) => lines);
  expect(counts, "some died before their first step").toContain(0);
  expect(counts, "some died after their last step").toContain(steps);
});
