import { rm } from "node:fs/promises";
import { join } from "node:path";
import { sequence } from "../floors/load.ts";
import { treeCpuUs } from "../harness/cpu.ts";
import { Effects } from "../harness/effects.ts";
import type { Environment } from "../harness/environment.ts";
import { installedVersion, startKillable } from "../harness/peers.ts";
import type { Benchmark, CandidateSource, Measured } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { engines } from "./engines.ts";
import { sized } from "../harness/sizes.ts";

const runs = sized(1000);
const steps = 3;
/** Steps that were carried out when it is killed: few enough that no run has ended in most of the windows. */
const killAt = { least: sized(100), most: sized(1000) };

/** SIGKILL of a server with many runs in flight, until the one that takes its place carries out the first step. */
export const b11 = (environment: Environment): Benchmark => ({
  id: "B11",
  title: `SIGKILL with ${runs} runs of ${steps} steps in flight`,
  isCold: true,
  candidates: [...engines.map((engine) => peer(environment, engine)), server(environment)],
  lines: [
    {
      metric: "restart -> first new step",
      unit: "ms",
      better: "less",
      value: ({ ms }) => ms,
      ours: "server",
      hold: [{ ratio: 2000 }],
      goal: [{ to: "DBOS", ratio: 0.3 }],
    },
    {
      metric: "steps repeated",
      unit: "steps",
      better: "less",
      value: ({ repeats = NaN }) => repeats,
      ours: "server",
      hold: [{ ratio: 0 }],
    },
  ],
});

/** Starts the program on what the one before has left, if anything. */
type Start = () => Promise<WorkerProcess>;

/** Ours: the runner of host processes stays alive, as it does when a server is killed. */
const server = (environment: Environment): CandidateSource => ({
  name: "server",
  role: "ours",
  start: () =>
    Promise.resolve({
      async measure(_ms, round) {
        const dir = await environment.directory();
        const runnerPath = join(environment.home, "..", "dist", "runner.cjs");
        const start = async () => {
          const worker = environment.worker("ours/recovering-server", { isOurs: true });
          await worker.call("start", { dir, runnerPath });
          return worker;
        };
        const window = await killOnce(start, join(dir, "effects"), round);
        await rm(dir, { recursive: true, force: true });
        return window;
      },
      close: () => Promise.resolve(),
    }),
});

/** A peer's engine is killed; its database or server goes on, which spares it a part of the work. */
const peer = (
  environment: Environment,
  { name, engine, service, library }: (typeof engines)[number],
): CandidateSource => {
  const version = installedVersion(environment, library);
  return {
    name,
    role: "peer",
    ...(version === undefined ? {} : { version }),
    async start() {
      const effects = join(await environment.directory(), "effects");
      const start = await startKillable(environment, engine, service, { EFFECTS: effects });
      return { measure: (_ms, round) => killOnce(start, effects, round), close: () => Promise.resolve() };
    },
  };
};

const nextKill = sequence(killAt.most - killAt.least);

/**
 * One life and death; CPU is that of the second program until its first step. Rejects when a run does not reach its end or a step was never carried out; steps that were carried out
 * more than once are counted.
 */
async function killOnce(start: Start, path: string, round: string): Promise<Measured> {
  const effects = new Effects(path, `${round}-${process.hrtime()[1]}-`);
  const first = await start();
  await first.call("startMany", { runs, steps, prefix: effects.prefix, effects: path });
  await effects.reach(killAt.least + nextKill());
  await first.kill();
  const before = await effects.settled();
  const begin = performance.now();
  const starting = start();
  const [second] = await Promise.all([starting, effects.reach(before + 1)]);
  const [ms, cpuUs] = [performance.now() - begin, treeCpuUs([second.pid])];
  await second.call("waitMany", { runs, prefix: effects.prefix });
  const repeats = effects.repeatsOf(runs, steps);
  await second.call("stop");
  await second.close();
  return { ops: 1, ms, cpuUs, repeats, note: `killed after ${before} of ${runs * steps} steps` };
}
