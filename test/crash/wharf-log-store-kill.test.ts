import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { allLines, linesOf, stepLines, withStore } from "#dialects/wharf/log-store/testing/log-lines.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { removeDirectory, temporaryDirectory } from "../support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// A server that is killed with SIGKILL while lines are being inserted has each line once that it has acknowledged as durable, and each that a follower
// has seen, under the same number. The next server goes on.

const kills = rounds(2, 50);
let directory = "";
let program = "";
beforeAll(async () => {
  directory = await temporaryDirectory();
  program = await bundleProgram(join(import.meta.dirname, "wharf-log-store-writer.ts"));
});
afterAll(() => removeDirectory(directory));

interface Told {
  readonly kept: Map<string, number>;
  /** Of build 1: step and line by logId. */
  readonly seen: Map<number, string>;
}

/** What the server said until it was killed, after so many words of it. */
async function killAfter(words: number, store: string): Promise<Told> {
  const server = spawn(process.execPath, [program, store], { stdio: ["ignore", "pipe", "inherit"] });
  const told: Told = { kept: new Map(), seen: new Map() };
  let count = 0;
  const exit = once(server, "exit");
  for await (const line of createInterface({ input: server.stdout })) {
    const [word, ...rest] = line.split(" ");
    const [build = 0, second = 0, third, fourth] = rest.map(Number);
    // A line that was cut off by the kill says nothing.
    if (word === "kept" && third !== undefined) told.kept.set(`${build}/${second}`, third);
    if (word === "saw" && fourth !== undefined) told.seen.set(second, `${fourth}/${third}`);
    if (++count === words) server.kill("SIGKILL");
  }
  expect(await exit).toEqual([null, "SIGKILL"]);
  return told;
}

test("a server that is killed again and again has every durable line once, and goes on", async () => {
  const path = join(directory, "store");
  for (let round = 0; round < kills; round++) {
    const { kept, seen } = await killAfter(1 + Math.floor(Math.random() * 150), path);
    await withStore(path, async (store) => {
      const lines = await allLines(store, 1);
      const logIds = lines.map(({ logId }) => logId);
      expect(new Set(logIds).size).toBe(logIds.length);
      expect(logIds.every((logId, at) => at === 0 || logId > (logIds[at - 1] ?? 0))).toBe(true);
      const known = new Map(lines.map(({ logId, stepId, workerLogId }) => [logId, `${stepId}/${workerLogId}`]));
      for (const [logId, line] of seen) expect(known.get(logId)).toBe(line);
      for (const [key, last] of kept) {
        const [build = 0, step = 0] = key.split("/").map(Number);
        const cursors = await store.cursors(build);
        const cursor = cursors.find(({ stepId }) => stepId === step)?.lastWorkerLogId ?? 0;
        expect(cursor).toBeGreaterThanOrEqual(last);
        const messages = (await stepLines(store, build, step)).map(({ message }) => message);
        expect(new Set(messages).size).toBe(messages.length);
        expect(messages.slice(0, cursor)).toEqual(linesOf(step, 1, cursor).map(({ message }) => message));
      }
    });
  }
});
