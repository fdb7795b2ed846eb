import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { linesOf } from "../log-store/testing/log-lines.ts";
import { BuildStores } from "./build-stores.ts";

let directory = "";
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "slipway-build-stores-"))));
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Runs `work` with the stores of a server that knows these builds; all of them when there is no list. */
async function withStores<T>(builds: readonly number[] | undefined, work: (stores: BuildStores) => Promise<T>) {
  const known = () => (builds === undefined ? undefined : (buildId: number) => builds.includes(buildId));
  const stores = new BuildStores({ directory, clock: systemClock, log: silentLog, known });
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}

/** Of which builds there are a log and artifacts. */
const kept = (stores: BuildStores): Promise<readonly (readonly number[])[]> =>
  stores
    .open()
    .then(async ({ logs, artifacts }) => [await logs.builds(), [...artifacts.builds()].toSorted((a, b) => a - b)]);

const fill = (...builds: readonly number[]): Promise<void> =>
  withStores(undefined, async (stores) => {
    const { logs, artifacts } = await stores.open();
    for (const buildId of builds) {
      await logs.insert(buildId, linesOf(1, 1, 2), true);
      const bytes = async function* () {
        yield Buffer.from("bytes");
      };
      await artifacts.add(buildId, { name: "a" }, bytes());
    }
  });

test("what a crash has left of builds that are gone is removed when the stores are opened", async () => {
  await fill(1, 2, 3);
  expect(await withStores([2, 9], (stores) => stores.highestNumber())).toBe(3);
  expect(await withStores([2, 9], kept)).toEqual([[2], [2]]);
  expect(await withStores(undefined, kept)).toEqual([[2], [2]]);
  // Its number is not given again: what still comes for the one of before is not another's.
  expect(await withStores(undefined, (stores) => stores.highestNumber())).toBe(3);
});

test("nothing is removed while builds are not known, or when none of them is", async () => {
  await fill(1, 2);
  const all = [
    [1, 2],
    [1, 2],
  ];
  expect(await withStores(undefined, kept)).toEqual(all);
  expect(await withStores([], kept)).toEqual(all);
});

test("the highest number that was removed outlives the process", async () => {
  expect(await withStores([], (stores) => stores.highestNumber())).toBe(0);
  await withStores([], (stores) => Promise.all([stores.remove(12), stores.remove(3), stores.remove(11)]));
  expect(await withStores([], (stores) => stores.highestNumber())).toBe(12);
});
