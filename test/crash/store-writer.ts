import { writeSync } from "node:fs";
import { lockDirectory } from "../../src/kernel/apiserver/store/lock.ts";
import { openStore } from "../../src/kernel/apiserver/store/open.ts";
import type { StoreKey } from "../../src/kernel/apiserver/store/store.ts";

// The program that is killed. Usage: DIRECTORY ROUND MAX_EVENTS SEGMENT_WRITES LARGEST_OBJECT. It writes with 64 callers at once until it dies and says on
// stdout, a line each: `begin ID put|remove NAME` before a write is begun, `done ID REVISION` when it has been answered
// (revision 0: there was nothing to remove).

const [, , directory = "", round = "0", maxEvents = "0", segmentWrites = "0", largest = "0"] = process.argv;
const workers = 64;
const objects = 200;

const say = (line: string): number => writeSync(1, `${line}\n`);

/** The same numbers in each run of a round. */
let state = Number(round) + 1;
const random = (below: number): number => {
  state = (state * 1_664_525 + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const keyOf = (name: string): StoreKey => ({
  group: "crash.slipway.dev",
  resource: "items",
  namespace: "default",
  name,
});

await lockDirectory(directory);
const store = await openStore(directory, {
  retention: { maxEvents: Number(maxEvents) },
  checkpoints: { segmentWrites: Number(segmentWrites) },
});

async function work(worker: number): Promise<void> {
  for (let count = 0; ; count++) {
    const id = `${round}-${worker}-${count}`;
    const name = `i${random(objects)}`;
    const isRemoval = random(4) === 0;
    say(`begin ${id} ${isRemoval ? "remove" : "put"} ${name}`);
    const key = keyOf(name);
    const revision = await store.write((transaction) => {
      if (isRemoval) return transaction.head(key) === undefined ? 0 : transaction.remove(key).revision;
      const metadata = { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: "2026-01-01T00:00:00Z" };
      const object = {
        apiVersion: "crash.slipway.dev/v1",
        kind: "Item",
        metadata,
        spec: { id, fill: "x".repeat(random(Number(largest))) },
      };
      return transaction.put(key, object).revision;
    });
    say(`done ${id} ${revision}`);
  }
}

await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
