import { appendFile, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import { acquireLock } from "./lock.ts";
import { identityOf, isAlive } from "./process-identity.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory.path, "journal");
});
afterEach(() => directory.remove());

const intent = (id: string): JournalEntry => ({ entry: "intent", id, at: 1 });

/** What a runner finds that opens the journal after a crash: nothing is closed before. */
async function reopened(): Promise<readonly string[]> {
  const { journal, last } = await Journal.open(path);
  await journal.close();
  return last.map((entry) => (entry.entry === "removed" ? "removed" : `${entry.entry} ${entry.id}`));
}

test("what was appended is found again, the last word on each task", async () => {
  const { journal, last } = await Journal.open(path);
  expect(last).toEqual([]);
  await journal.append(intent("a"));
  await Promise.all([
    journal.append(intent("b")),
    journal.append({ entry: "started", id: "a", at: 2, process: { pid: 1 } }),
  ]);
  await journal.append({ entry: "removed", ids: ["b"] });
  expect(await reopened()).toEqual(["started a"]);
});

test("an entry that was never completely written is left out, and the next one is not harmed by it", async () => {
  const { journal } = await Journal.open(path);
  await journal.append(intent("a"));
  const text = (await readFile(path, "utf8")).replaceAll("\0", "");
  await truncate(path, Buffer.byteLength(text));
  await appendFile(path, '{"entry":"intent","id":"to');
  const second = await Journal.open(path);
  await second.journal.append(intent("c"));
  expect(await reopened()).toEqual(["intent a", "intent c"]);
});

test("a damaged line in the middle costs that line only", async () => {
  await writeFile(path, `${JSON.stringify(intent("a"))}\n{"entry":\n${JSON.stringify(intent("b"))}\n`);
  expect(await reopened()).toEqual(["intent a", "intent b"]);
});

test("the file grows beyond what was set aside at first, and shrinks when most of it is about tasks that are gone", async () => {
  const { journal } = await Journal.open(path);
  const ids = Array.from({ length: 3_000 }, (_, index) => `${"x".repeat(200)}-${index}`);
  await Promise.all(ids.map((id) => journal.append(intent(id))));
  const full = (await stat(path)).size;
  await journal.append({ entry: "removed", ids: ids.slice(1) });
  await journal.append(intent("last"));
  await Promise.all(Array.from({ length: 5_000 }, () => journal.append({ entry: "removed", ids: [] })));
  await journal.append(intent("kept"));
  await journal.close();
  expect((await stat(path)).size).toBeLessThan(full);
  expect(await reopened()).toEqual([`intent ${ids[0]}`, "intent last", "intent kept"]);
});

test("a lock keeps others out while its holder lives, and not longer", async () => {
  const lock = join(directory.path, "lock");
  expect(await acquireLock(lock)).toBe(true);
  expect(await acquireLock(lock)).toBe(false);
  await writeFile(lock, JSON.stringify({ ...identityOf(process.pid), startTicks: "1" }));
  expect(await acquireLock(lock)).toBe(true);
});

test("a process is the same only with its start time and boot", () => {
  const self = identityOf(process.pid);
  expect(isAlive(self)).toBe(process.platform === "linux");
  expect(isAlive({ ...self, startTicks: "0" })).toBe(false);
  expect(isAlive({ ...self, boot: "another" })).toBe(false);
  expect(isAlive({ pid: process.pid })).toBe(false);
});
