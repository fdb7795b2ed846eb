import { rm } from "node:fs/promises";
import { treeCpuUs } from "../harness/cpu.ts";
import type { Environment } from "../harness/environment.ts";
import { mostRssBytes } from "../harness/memory.ts";
import type { Benchmark, Candidate, CandidateSource, Line, Measured } from "../harness/types.ts";
import { carriedSteps } from "../ours/carried-lines.ts";
import { HostedParts } from "./hosted-parts.ts";
import { sized } from "../harness/sizes.ts";

const floor = "carry bytes";
/** What a line goes through, each a process of its own, in the floor as well. */
const programs = ["the worker", "the aggregator", "wharf-api"] as const;
type Program = (typeof programs)[number];

/** Of each of the four steps: a million lines in all, fewer for the edit loop. */
const linesOf = (ms: number): number => (ms >= 2000 ? 250_000 : sized(100_000));

/** Lines from the results of their worker to the disk of wharf-api, brought there by an aggregator as users start it. */
export const b9e = (environment: Environment): Benchmark => ({
  id: "B9e",
  title: "lines of 100 bytes of a build of four steps, from its worker to wharf-api's disk, by the aggregator",
  candidates: [bytes(environment), build(environment, "ended"), build(environment, "running")],
  lines: [
    { ...rate("ended"), metric: "lines carried, build that has ended", hold: [{ ratio: 100_000 }] },
    { ...rate("running"), metric: "lines carried, build that runs" },
    ...programs.map(cpu),
    {
      metric: "memory of the aggregator, at most",
      unit: "MB",
      better: "less",
      value: ({ rssBytes = NaN }) => rssBytes / 1e6,
      ours: "ended",
      floor,
    },
  ],
});

const rate = (ours: string): Omit<Line, "metric"> => ({
  unit: "/s",
  better: "more",
  value: ({ ops, ms }) => (ops * 1000) / ms,
  ours,
  floor,
});

const cpu = (program: Program): Line => ({
  metric: `CPU of ${program}`,
  unit: "us/line",
  better: "less",
  value: ({ ops, parts = {} }) => (parts[program] ?? NaN) / ops,
  ours: "ended",
  floor,
});

/** One window. CPU is that of the three processes while `carry` is under way; the second of them is told of with its memory. */
async function measured(
  lines: number,
  pids: readonly [number, number, number],
  carry: () => Promise<void>,
): Promise<Measured> {
  const spent = () => pids.map((pid) => treeCpuUs([pid]));
  const before = spent();
  const begin = performance.now();
  await carry();
  const ms = performance.now() - begin;
  const used = spent().map((cpuUs, at) => cpuUs - (before[at] ?? NaN));
  const parts = Object.fromEntries(programs.map((program, at) => [program, used[at] ?? NaN]));
  const cpuUs = used.reduce((sum, each) => sum + each, 0);
  return { ops: carriedSteps * lines, ms, cpuUs, parts, rssBytes: mostRssBytes(pids[1]) };
}

/** One that is there before anybody comes, or one that prints while it is followed. */
const build = (environment: Environment, name: "ended" | "running"): CandidateSource => ({
  name,
  role: "ours",
  async start() {
    const hosted = await HostedParts.start(environment);
    const worker = environment.worker("ours/printing-worker", { isOurs: true });
    return {
      async measure(ms) {
        const lines = linesOf(ms);
        const dir = await environment.directory();
        const address = await worker.call<string>("begin", { dir, lines });
        const number = await hosted.build();
        if (name === "ended") await worker.call("print");
        else {
          await hosted.announce(number, address);
          await worker.call("followed");
        }
        const window = await measured(lines, [worker.pid, hosted.aggregator.pid, hosted.api.pid], async () => {
          if (name === "ended") await hosted.announce(number, address);
          else await worker.call("print");
          await hosted.completion(number);
        });
        await hosted.remove(number, lines);
        await worker.call("end");
        await rm(dir, { recursive: true });
        return window;
      },
      async close() {
        await worker.close();
        await hosted.close();
      },
    };
  },
});

const bytes = (environment: Environment): CandidateSource => ({
  name: floor,
  role: "floor",
  async start(): Promise<Candidate> {
    const all = programs.map(() => environment.worker("floors/carried-lines"));
    const [source, carrier, sink] = all;
    if (source === undefined || carrier === undefined || sink === undefined) throw new Error("no processes");
    const to = await sink.call<number>("sink", { dir: await environment.directory() });
    return {
      async measure(ms) {
        const lines = linesOf(ms);
        const dir = await environment.directory();
        const { port: from, size } = await source.call<{ port: number; size: number }>("source", { dir, lines });
        let kept = 0;
        const window = await measured(lines, [source.pid, carrier.pid, sink.pid], async () => {
          kept = await carrier.call<number>("carry", { from, to });
        });
        if (kept !== size) throw new Error(`${kept} of ${size} bytes are there`);
        await rm(dir, { recursive: true });
        return window;
      },
      close: async () => void (await Promise.all(all.map((process) => process.close()))),
    };
  },
});
