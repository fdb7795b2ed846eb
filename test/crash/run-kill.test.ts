import { seededRandom } from "#kernel/kit/testing/index.ts";
import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import {
  childTemplate,
  expectedLines,
  expectedOutputs,
  final,
  gate,
  keys,
  linesBeforeEnd,
  runDocument,
} from "./run-document.ts";
import { rounds } from "#test/support/rounds.ts";

// A server is killed with its whole process group at any moment of a run's life, and started again: the run ends as it would have, each
// attempt of each step, item, round and child has run once and its log is there, and who approved has done so once.
// SLIPWAY_CRASH_SEED repeats the moments of an earlier run of this test, as closely as a clock can.

const group = "/apis/slipway.dev/v1alpha1/namespaces/default";
const pods = "/api/v1/namespaces/default/pods";
/** The user of the kubeconfig that the server writes. */
const approver = "slipway:admin";
const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? randomInt(2 ** 31));
const random = seededRandom(seed);

/** What a moment is told by. */
interface Run {
  /** Where its steps write a line each. */
  readonly file: string;
  readonly status: () => Promise<Status>;
  /** How long a run took that nobody disturbed. */
  readonly wholeMs: number;
}

/** What the kill waits for once the create is answered, and its share of many rounds. */
interface Moment {
  readonly title: string;
  readonly share: number;
  readonly come: (run: Run) => Promise<unknown>;
}

const within = (ms: number) => sleep(systemClock, random() * ms);
const written = ({ file }: Run, count: number) =>
  until(
    () => linesOf(file),
    (lines) => lines.length >= count,
  );
const hasLine = ({ file }: Run, line: string) =>
  until(
    () => linesOf(file),
    (lines) => lines.includes(line),
  );
const phaseOf = (status: Status, key: string) => status.statuses?.[key]?.phase;

const soonest: Moment = { title: "with the answer", share: 2, come: () => Promise.resolve() };
/** Most have their place: a run is created, approved and ended once, and chance alone would seldom come by. */
const moments: readonly Moment[] = [
  soonest,
  { title: "before the first step", share: 2, come: () => within(60) },
  { title: "at any moment", share: 3, come: ({ wholeMs }) => within(wholeMs) },
  {
    title: "after any step",
    share: 3,
    come: async (run) => {
      await written(run, 1 + Math.floor(random() * (expectedLines.length - 2)));
      await within(25);
    },
  },
  {
    title: "around the attempt that fails in the child",
    share: 2,
    come: async (run) => {
      await hasLine(run, "frail#1");
      await within(200);
    },
  },
  {
    title: "around the approval",
    share: 2,
    come: async (run) => {
      // The answer may come between two looks.
      await until(run.status, (status) => ["Suspended", "Succeeded"].includes(phaseOf(status, gate) ?? ""));
      await within(60);
    },
  },
  {
    title: "around the last step",
    share: 2,
    come: async (run) => {
      await written(run, linesBeforeEnd);
      await within(40);
    },
  },
  {
    title: "before the end is recorded",
    share: 2,
    come: async (run) => {
      await written(run, expectedLines.length);
      await within(100);
    },
  },
  { title: "with the end", share: 1, come: (run) => until(run.status, ({ phase }) => phase === "Succeeded") },
];
/** A change is judged by every third moment, beginning with one of the first three as the seed says; the first and the last are always there. */
const chosen = moments.filter((_, at) => rounds(at === 0 || at === moments.length - 1 || at % 3 === seed % 3, true));
const deck = chosen.flatMap((moment) => Array.from({ length: rounds(1, moment.share * 10) }, () => moment));

/** On the busiest machine. */
const longestMs = 600_000 + deck.length * 20_000;

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

async function start(): Promise<void> {
  server = await startServer(directory);
  api?.close();
  api = await connectApi(server.url, server.kubeconfig);
}

const linesOf = async (file: string): Promise<string[]> => toLines(await readFile(file, "utf8").catch(() => ""));
const toLines = (text: string): string[] => text.split("\n").filter((line) => line !== "");

/** Long enough for all steps of a run on the busiest machine. */
const patienceMs = 120_000;

/** Looks often where a moment is waited for; every look is a request that the server has to answer. */
async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean, pauseMs = 5): Promise<T> {
  const end = systemClock.monotonic() + patienceMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (systemClock.monotonic() > end)
      throw new Error(`not within ${patienceMs / 1000} s: ${JSON.stringify(seen)}\n${server?.log() ?? ""}`);
    await sleep(systemClock, pauseMs);
  }
}

interface StepStatus {
  readonly phase: string;
  readonly attempt: number;
  readonly approvals?: readonly { readonly by?: string }[];
}

interface Status {
  readonly phase?: string;
  readonly outputs?: object;
  readonly statuses?: Readonly<Record<string, StepStatus>>;
}

/** As much of objects as is looked at here. */
interface Found<S = Status> {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: S;
}

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  if (api === undefined) throw new Error("no server was started");
  const { status, text } = await api.ask(method, path, body).catch((cause: unknown) => {
    const { exitCode, signalCode } = server?.process ?? {};
    const end = exitCode ?? signalCode ?? "none";
    throw new Error(`${method} ${path} is not answered (end of the server: ${end})\n${server?.log() ?? ""}`, { cause });
  });
  expect(status, text).toBeLessThan(300);
  return JSON.parse(text) as T;
}
const statusOf = async (name: string): Promise<Status> =>
  (await ask<Found>("GET", `${group}/workflows/${name}`)).status ?? {};
const labelled = (uid: string) => `?labelSelector=${encodeURIComponent(`slipway.dev/workflow-uid=${uid}`)}`;

/** The code of an answer, 0 where there is none: the server may be gone. */
const codeOf = (method: string, path: string, body?: object): Promise<number> =>
  api?.ask(method, path, body).then(
    ({ status }) => status,
    () => 0,
  ) ?? Promise.resolve(0);

/**
 * Somebody who approves as soon as the run asks, and says so again while nobody answers. The name is the same each time, so that what
 * was heard before the server died is not said twice. Gives up with the test.
 */
async function approve(workflow: string, action: string): Promise<void> {
  const look = () => statusOf(workflow).catch((): Status => ({}));
  await until(look, (status) => phaseOf(status, gate) === "Suspended", 50);
  const body = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "RunAction",
    metadata: { name: action },
    spec: {
      target: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: workflow },
      action: "approve",
      step: gate,
    },
  };
  await until(
    () => codeOf("POST", `${group}/runactions`, body),
    (code) => code === 201 || code === 409,
    50,
  );
}

/** What all logs of a run hold, those of its child Workflows included. */
async function loggedLines(uid: string): Promise<readonly string[]> {
  const own = await ask<{ items: readonly Found<object>[] }>("GET", pods + labelled(uid));
  const children = await ask<{ items: readonly Found[] }>("GET", `${group}/workflows${labelled(uid)}`);
  const logs = own.items.map(async ({ metadata }) => {
    const answer = await api?.ask("GET", `${pods}/${metadata.name}/log`);
    expect(answer?.status, answer?.text).toBe(200);
    return toLines(answer?.text ?? "");
  });
  const below = children.items.map(({ metadata }) => loggedLines(metadata.uid));
  return (await Promise.all([...logs, ...below])).flat();
}

/** What a run came to that is the same however often it was interrupted. */
async function outcomeOf(name: string, action: string) {
  const { metadata, status = {} } = await ask<Found>("GET", `${group}/workflows/${name}`);
  const steps = Object.entries(status.statuses ?? {}).map(([key, { phase, attempt }]) => [key, `${phase} ${attempt}`]);
  const answered = await until(
    () => ask<Found<{ readonly phase?: string; readonly by?: string }>>("GET", `${group}/runactions/${action}`),
    ({ status: { phase } = {} }) => phase !== undefined,
  );
  return {
    phase: status.phase,
    outputs: status.outputs,
    steps: Object.fromEntries(steps) as Readonly<Record<string, string>>,
    approvals: status.statuses?.[gate]?.approvals?.map(({ by }) => by),
    action: [answered.status?.phase, answered.status?.by],
    logged: (await loggedLines(metadata.uid)).toSorted(),
  };
}

const isOver = ({ phase = "" }: Status) => ["Succeeded", "Failed", "Canceled"].includes(phase);

/** One life of a run: created, disturbed, approved, at its end, after so many milliseconds. */
async function live(name: string, disturb: (run: Pick<Run, "file" | "status">) => Promise<unknown>) {
  const file = join(directory, `${name}.txt`);
  const begun = systemClock.monotonic();
  await ask("POST", `${group}/workflows`, runDocument(name, file, approver));
  const approved = approve(name, `go-${name}`);
  // It is awaited below; until then nobody would hear of it.
  approved.catch(() => undefined);
  await disturb({ file, status: () => statusOf(name) });
  await approved;
  const end = await until(() => statusOf(name), isOver, 50);
  const ms = systemClock.monotonic() - begun;
  const lines = await linesOf(file);
  const which = `${name}, seed ${seed}: ${JSON.stringify({ lines, end })}`;
  expect(lines.toSorted(), `everything ran once in ${which}`).toEqual(expectedLines.toSorted());
  expect(lines.at(-1), which).toBe(`${final}#1`);
  return { outcome: await outcomeOf(name, `go-${name}`), which, ms };
}

test(
  `a run of ${keys.length} steps, with a fan-out, a loop, retries, an approval, an apply and a child workflow, survives a kill -9 of the server at any moment of its life, ${deck.length} times`,
  async () => {
    const struck: [title: string, lines: number][] = [];
    await start();
    await ask("POST", `${group}/workflowtemplates`, childTemplate);
    // The first one finds everything cold, and takes longer than those that come after it.
    await live("first", () => Promise.resolve());
    const { outcome: undisturbed, ms: wholeMs } = await live("undisturbed", () => Promise.resolve());
    expect(undisturbed).toMatchObject({
      phase: "Succeeded",
      outputs: expectedOutputs(approver),
      approvals: [approver],
      action: ["Done", approver],
      logged: expectedLines.toSorted(),
    });
    expect(Object.keys(undisturbed.steps)).toHaveLength(keys.length + 1);
    const strike = async ({ title, come }: Moment) => {
      const { outcome, which } = await live(`round-${struck.length}`, async (run) => {
        await come({ ...run, wholeMs });
        await server?.kill();
        struck.push([title, (await linesOf(run.file)).length]);
        await start();
      });
      expect(outcome, `killed ${title}: ${which}`).toEqual(undisturbed);
    };
    const hasStruck = (count: number) => struck.some(([, lines]) => lines === count);
    try {
      for (const moment of deck) await strike(moment);
      // On a busy machine the first step may begin before the answer has come through: then chance is given more.
      for (let more = 0; more < 20 && !hasStruck(0); more++) await strike(soonest);
    } finally {
      const told = struck.map(([title, lines]) => `${title}: ${lines}`).join(", ");
      process.stderr.write(`run-kill: seed ${seed}, ${Math.round(wholeMs)} ms undisturbed; ${told}\n`);
    }
    expect(hasStruck(0), "some died before their first step").toBe(true);
    expect(hasStruck(expectedLines.length), "some died after their last step").toBe(true);
  },
  longestMs,
);
