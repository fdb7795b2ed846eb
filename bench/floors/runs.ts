import { fdatasync, open, write as writeFile } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ClosedFigures, type ClosedLoad, closedLoop } from "../harness/closed-loop.ts";
import { chainLength, fanWidth, type RunKind } from "../ours/workflows.ts";
import { groupCommit } from "./load.ts";

/** Makes one record durable. */
export type Commit = (record: object) => Promise<void>;

/** What a floor of runs needs to be told: how one run is carried out, its steps being `effect`. */
export type PlayRun = (id: number, kind: RunKind, commit: Commit, effect: () => void) => Promise<void>;

const segmentBytes = 64 * 2 ** 20;
const [openAsync, writeAsync, syncAsync] = [promisify(open), promisify(writeFile), promisify(fdatasync)];

export interface RunLoad extends ClosedLoad {
  readonly kind: RunKind;
  readonly dir: string;
}

/** Steps of a floor's run: it has no first step before a fan-out. */
export const floorSteps = (kind: RunKind): number => ({ seq: chainLength, fan: fanWidth, one: 1, brief: 1 })[kind];

/** A window of runs on one preallocated, zeroed log with group commit. */
export async function playRuns(
  play: PlayRun,
  { kind, dir, ...load }: RunLoad,
): Promise<ClosedFigures & { cpuUs: number }> {
  const file = await openAsync(join(dir, "floor.log"), "w+");
  await writeAsync(file, Buffer.alloc(segmentBytes), 0, segmentBytes, 0);
  await syncAsync(file);
  let position = 0;
  const append = groupCommit<string>(async (batch) => {
    const bytes = Buffer.from(`${batch.join("\n")}\n`);
    if (position + bytes.length > segmentBytes) position = 0;
    await writeAsync(file, bytes, 0, bytes.length, position);
    await syncAsync(file);
    position += bytes.length;
  });
  let effects = 0;
  const cpu = process.cpuUsage();
  const figures = await closedLoop(load, (id) =>
    play(
      id,
      kind,
      (record) => append(JSON.stringify(record)),
      () => void effects++,
    ),
  );
  const { user, system } = process.cpuUsage(cpu);
  const expected = figures.ops * floorSteps(kind);
  if (effects !== expected) throw new Error(`${effects} steps instead of ${expected}`);
  return { ...figures, cpuUs: user + system };
}
