import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { temporaryDirectory } from "../../testing/index.ts";
import { Journal, type JournalEntry } from "./journal.ts";

const id = fc.constantFrom("a/main/0", "b/main/0", "ü/main/1", 'quote"\\n/main/0', "c/side/12");
const entry: fc.Arbitrary<JournalEntry> = fc.oneof(
  fc.record({ entry: fc.constant("intent" as const), id, at: fc.nat() }),
  fc.record({
    entry: fc.constant("started" as const),
    id,
    at: fc.nat(),
    process: fc.record({ pid: fc.nat(), startTicks: fc.constant("12"), boot: fc.constant("b") }),
  }),
  fc.record({
    entry: fc.constant("ended" as const),
    id,
    outcome: fc.record({
      kind: fc.constant("not-started" as const),
      code: fc.nat(),
      message: fc.string({ unit: "grapheme", maxLength: 20 }),
      finishedAt: fc.nat(),
    }),
  }),
  fc.record({ entry: fc.constant("removed" as const), ids: fc.array(id, { maxLength: 3 }) }),
);
const entries = fc.array(entry, { maxLength: 20 });

/** The last word on each task, in the order in which tasks first came. */
function lastOf(all: readonly JournalEntry[]): readonly JournalEntry[] {
  const live = new Map<string, JournalEntry>();
  for (const one of all) {
    if (one.entry === "removed") for (const each of one.ids) live.delete(each);
    else live.set(one.id, one);
  }
  return [...live.values()];
}

async function withJournal(use: (path: string) => Promise<void>): Promise<void> {
  const directory = await temporaryDirectory();
  try {
    await use(join(directory.path, "journal"));
  } finally {
    await directory.remove();
  }
}

/** Writes entries, some of them together, and leaves the file as a killed process does. */
async function write(path: string, all: readonly JournalEntry[]): Promise<void> {
  const { journal } = await Journal.open(path);
  for (let from = 0; from < all.length; from += 3) {
    await Promise.all(all.slice(from, from + 3).map((one) => journal.append(one)));
  }
  await journal.close();
}

async function reopened(path: string): Promise<readonly JournalEntry[]> {
  const { journal, last } = await Journal.open(path);
  await journal.close();
  return last;
}

const textOf = async (path: string): Promise<Buffer> => {
  const bytes = await readFile(path);
  return bytes.subarray(0, bytes.indexOf(0));
};

test("what was appended is found again, the last word on each task, also after several lives", () =>
  fc.assert(
    fc.asyncProperty(entries, entries, (first, second) =>
      withJournal(async (path) => {
        await write(path, first);
        expect(await reopened(path)).toEqual(lastOf(first));
        await write(path, second);
        expect(await reopened(path)).toEqual(lastOf([...lastOf(first), ...second]));
      }),
    ),
    { numRuns: runs(25) },
  ));

test("cut off at any byte, a journal holds exactly the entries that were whole before it", () =>
  fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 12 }), fc.nat(), fc.boolean(), (all, at, zeros) =>
      withJournal(async (path) => {
        await write(path, all);
        const text = await textOf(path);
        const cut = at % (text.length + 1);
        // What lies behind is gone, or never reached the disk and reads as zeros.
        const rest = zeros ? Buffer.alloc(text.length - cut) : Buffer.alloc(0);
        await writeFile(path, Buffer.concat([text.subarray(0, cut), rest]));
        const whole = text.subarray(0, cut).toString().split("\n").length - 1;
        expect(await reopened(path)).toEqual(lastOf(all.slice(0, whole)));
        await write(path, [{ entry: "intent", id: "next", at: 1 }]);
        expect((await reopened(path)).at(-1)).toMatchObject({ id: "next" });
      }),
    ),
    { numRuns: runs(60) },
  ));

test("a damaged byte costs at most the line it is in, or two when it is the end of a line", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 40 }), { minLength: 2, maxLength: 12 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (numbers, at, byte) =>
        withJournal(async (path) => {
          const all = numbers.map((at, index): JournalEntry => ({ entry: "intent", id: `task-${index}`, at }));
          await write(path, all);
          const text = Buffer.from(await textOf(path));
          const place = at % text.length;
          const line = text.subarray(0, place).toString("latin1").split("\n").length - 1;
          text[place] = byte;
          await writeFile(path, text);
          const found = new Map((await reopened(path)).map((one) => ["id" in one ? one.id : "", one]));
          for (const [index, one] of all.entries()) {
            if (index !== line && index !== line + 1) expect(found.get(`task-${index}`)).toEqual(one);
          }
        }),
    ),
    { numRuns: runs(60) },
  ));

test("however many lines become stale, the last word stays and the file does not grow for ever", () =>
  withJournal(async (path) => {
    const { journal } = await Journal.open(path);
    const largest: number[] = [];
    for (let round = 0; round < 12; round++) {
      const writes: Promise<void>[] = [];
      for (let task = 0; task < 1_000; task++) {
        writes.push(journal.append({ entry: "intent", id: `${round}/${task}`, at: task }));
      }
      writes.push(
        journal.append({ entry: "removed", ids: Array.from({ length: 999 }, (_, task) => `${round}/${task}`) }),
      );
      await Promise.all(writes);
      largest.push((await readFile(path)).indexOf(0));
    }
    await journal.close();
    expect(Math.max(...largest)).toBeLessThan(400_000);
    expect((await reopened(path)).map((one) => ("id" in one ? one.id : ""))).toEqual(
      Array.from({ length: 12 }, (_, round) => `${round}/999`),
    );
  }));
