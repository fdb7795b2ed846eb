import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock, sleep } from "../../src/lib/base/index.ts";
import { checkStore } from "../../src/kernel/apiserver/store/maintenance.ts";
import { openStore } from "../../src/kernel/apiserver/store/open.ts";
import type { Store, StoreEvent } from "../../src/kernel/apiserver/store/store.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { buildFaults, canFault } from "./faults.ts";
import { rounds } from "#test/support/rounds.ts";

// A server that is killed with SIGKILL, or whose power goes, at a random moment of 64 writes at once has lost nothing that it had
// answered, and shows nothing that nobody asked for.

const collection = { group: "crash.slipway.dev", resource: "items" };

interface Began {
  readonly id: string;
  readonly isRemoval: boolean;
  readonly name: string;
}

/** What the killed program said. */
interface Journal {
  readonly began: ReadonlyMap<string, Began>;
  readonly revisionById: ReadonlyMap<string, number>;
}

let directory: string;
let program: string;
let library: string | undefined;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-crash-"));
  program = await bundleProgram(join(import.meta.dirname, "store-writer.ts"));
  library = await buildFaults(directory);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** How a program ends: by a signal, or with the machine, so that of its last writes some are lost and some are not. */
type End = "kill" | "power cut";

/** How much is kept before it goes, events until they are compacted and writes in the redo log until the tables take them, and of what size. */
interface Kept {
  readonly events: number;
  readonly segment: number;
  /** Bytes of the largest object. */
  readonly largest: number;
}

/** Lets the program write for `lifeMs` after so many answers, ends it, and returns all it said. */
async function killAfter(
  end: End,
  { answers, lifeMs }: { readonly answers: number; readonly lifeMs: number },
  data: string,
  round: number,
  kept: Kept,
): Promise<Journal> {
  const fault = join(directory, "fault");
  await writeFile(fault, "");
  const options = [round, kept.events, kept.segment, kept.largest].map(String);
  const child = spawn(process.execPath, [program, data, ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    // Long before the test's own time is over.
    timeout: 120_000,
    killSignal: "SIGKILL",
    env: end === "kill" ? process.env : { ...process.env, LD_PRELOAD: library, FAULT: fault },
  });
  const began = new Map<string, Began>();
  const revisionById = new Map<string, number>();
  const lines = createInterface({ input: child.stdout });
  let death: Promise<unknown> | undefined;
  for await (const line of lines) {
    const [word, id = "", a = "", b = ""] = line.split(" ");
    if (word === "begin") began.set(id, { id, isRemoval: a === "remove", name: b });
    if (word === "done") revisionById.set(id, Number(a));
    if (revisionById.size >= answers) death ??= end === "kill" ? kill(child, lifeMs) : cut(child, lifeMs, fault);
  }
  if (death === undefined) throw new Error("the program ended before it had answered enough");
  await death;
  return { began, revisionById };
}

async function kill(child: ChildProcess, afterMs: number): Promise<void> {
  await sleep(systemClock, afterMs);
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  expect(await exited).toEqual([null, "SIGKILL"]);
}

async function cut(child: ChildProcess, afterMs: number, fault: string): Promise<void> {
  await sleep(systemClock, afterMs);
  const exited = once(child, "exit");
  await writeFile(fault, "cut");
  expect(await exited).toEqual([9, null]);
}

const idOf = ({ entry }: StoreEvent): string => (entry.object() as { readonly spec: { readonly id: string } }).spec.id;

/** Every event after `from` is a write that was begun, under the revision that was answered if one was. */
function assertEvents(store: Store, from: number, journal: Journal): void {
  const answered = new Map([...journal.revisionById].map(([id, revision]) => [revision, id] as const));
  const inFlight = new Map([...journal.began].filter(([id]) => !journal.revisionById.has(id)));
  let expected = Math.max(from, store.compactedRevision);
  const check = (event: StoreEvent): void => {
    expect(event.revision).toBe(++expected);
    const { name } = event.entry.key;
    const isRemoval = event.type === "delete";
    const id = answered.get(event.revision);
    if (id !== undefined) {
      expect(journal.began.get(id)).toEqual({ id, isRemoval, name });
      if (!isRemoval) expect(idOf(event)).toBe(id);
      return;
    }
    const asked = isRemoval
      ? [...inFlight.values()].find((began) => began.isRemoval && began.name === name)
      : inFlight.get(idOf(event));
    expect(asked).toMatchObject({ isRemoval, name });
    inFlight.delete(asked?.id ?? "");
  };
  store.subscribe(collection, expected, (events) => events.forEach(check)).close();
  expect(expected).toBe(store.revision);
}

/** How an object was found after a round. */
interface Found {
  readonly revision: number;
  readonly isGone: boolean;
}

/**
 * Nothing answered is undone: each object is in the state of its last answered write, or of a later one that was begun.
 * This is what can still be said when the events are compacted.
 */
function assertObjects(store: Store, before: ReadonlyMap<string, Found>, journal: Journal): ReadonlyMap<string, Found> {
  const last = new Map(before);
  const maybeRemoved = new Set<string>();
  for (const { id, name, isRemoval } of journal.began.values()) {
    const revision = journal.revisionById.get(id);
    if (revision === undefined && isRemoval) maybeRemoved.add(name);
    if ((revision ?? 0) > (last.get(name)?.revision ?? 0))
      last.set(name, { revision: revision ?? 0, isGone: isRemoval });
  }
  for (const [name, { revision, isGone }] of last) {
    const entry = store.get({ ...collection, namespace: "default", name });
    if (entry === undefined) expect(isGone || maybeRemoved.has(name)).toBe(true);
    else if (isGone) expect(entry.revision).toBeGreaterThan(revision);
    else expect(entry.revision).toBeGreaterThanOrEqual(revision);
    last.set(name, { revision: entry?.revision ?? revision, isGone: entry === undefined });
  }
  return last;
}

const whole: Kept = { events: 1_000_000, segment: 4_000, largest: 3_000 };
const compacted: Kept = { events: 3_000, segment: 4_000, largest: 3_000 };
// A checkpoint is under way at nearly every moment, and a segment begins every few milliseconds.
const checkpointed: Kept = { events: 1_000_000, segment: 100, largest: 3_000 };
// Objects have pages of their own, and the list of free pages grows long.
const large: Kept = { events: 300, segment: 150, largest: 20_000 };

describe.each<[string, End, number, Kept]>([
  ["killed again and again, with the whole history kept", "kill", rounds(3, 50), whole],
  ["killed again and again, with compactions all the time", "kill", rounds(3, 50), compacted],
  ["killed again and again, with checkpoints all the time", "kill", rounds(3, 50), checkpointed],
  ["killed again and again, with large objects that come and go", "kill", rounds(5, 200), large],
  ["whose power goes again and again, with the whole history kept", "power cut", rounds(3, 50), whole],
  ["whose power goes again and again, with compactions all the time", "power cut", rounds(3, 50), compacted],
  ["whose power goes again and again, with checkpoints all the time", "power cut", rounds(3, 50), checkpointed],
])("a server %s", (_, end, ends, kept) => {
  test.skipIf(end === "power cut" && !canFault)(`loses no answered write in ${ends} rounds`, async () => {
    const data = join(directory, `data-${end}-${Object.values(kept).join("-")}`);
    let [last, answers] = [0, 0];
    const enough = Math.max(300, ends * 50);
    let lastByName: ReadonlyMap<string, Found> = new Map();
    for (let round = 0; round < ends; round++) {
      // From the first commit to long after the first compaction; the same moments in each run.
      const lifeMs = ((round * 7_919) % 23) * 20;
      // On a machine where that was little, the last life is as long as it takes.
      const lacking = round === ends - 1 ? enough - answers : 0;
      const journal = await killAfter(end, { answers: Math.max(1, lacking), lifeMs }, data, round, kept);
      const highest = Math.max(...journal.revisionById.values());

      const report = await checkStore(data);
      expect(report.findings).toEqual([]);
      const store = await openStore(data);
      expect(store.revision).toBeGreaterThanOrEqual(Math.max(last, highest));
      assertEvents(store, last, journal);
      lastByName = assertObjects(store, lastByName, journal);
      for (const revision of journal.revisionById.values()) if (revision > 0) expect(revision).toBeGreaterThan(last);
      last = store.revision;
      answers += journal.revisionById.size;
      await store.close();
    }
    expect(answers).toBeGreaterThanOrEqual(enough);
    expect(lastByName.size).toBeGreaterThan(100);
  });
});
