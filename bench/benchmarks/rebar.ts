import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withCpu } from "../harness/candidates.ts";
import { ownCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import { sized } from "../harness/sizes.ts";
import type { Benchmark, CandidateSource, Line, Measured, Role } from "../harness/types.ts";
import type { RebarTarget } from "../load/rebar-jobs.ts";
import { startProgram } from "./b12.ts";

/** The server of Digital Rebar's machines: R1 their jobs, R2 their event streams. */
export const rebar = (environment: Environment): readonly Benchmark[] => [r1(environment), r2(environment)];

const machines = sized(100);

function r1(environment: Environment): Benchmark {
  const candidate = (name: string, role: Role): CandidateSource => ({
    name,
    role,
    async start() {
      const server = await startServer(environment, role, "floors/puts");
      const load = environment.worker("load/rebar-jobs");
      await load.call("connect", { ...server.target, count: machines });
      return {
        measure: (ms) => withCpu([server.pid], () => load.call<Measured>("run", { ms })),
        async close() {
          await load.close();
          await server.stop();
        },
      };
    },
  });
  return {
    id: "R1",
    title: `job loop of ${machines} machines: created, running, finished`,
    candidates: [candidate("three PUTs", "floor"), candidate("up", "ours")],
    lines: [
      {
        metric: "CPU of the server for a job",
        unit: "us",
        better: "less",
        value: ({ cpuUs, ops }) => cpuUs / ops,
        ours: "up",
        floor: "three PUTs",
        // The original's open server takes 5.4 ms at least.
        hold: [{ to: "three PUTs", ratio: 3 }, { ratio: 2700 }],
        goal: [{ ratio: 540 }],
      },
      {
        metric: "jobs",
        unit: "/s",
        better: "more",
        value: ({ ops, ms }) => (ops * 1000) / ms,
        ours: "up",
        floor: "three PUTs",
        // Four times, and twelve times, what the original's open server does.
        hold: [{ ratio: 500 }],
        goal: [{ ratio: 1500 }],
      },
    ],
  };
}

const listeners = sized(10_000);
const perProcess = Math.ceil(listeners / 2);
/** What handshakes have left behind is collected. */
const settleMs = sized(10_000);

function r2(environment: Environment): Benchmark {
  const candidate = (name: string, role: Role): CandidateSource => ({
    name,
    role,
    async start() {
      const server = await startServer(environment, role, "floors/sockets");
      const before = treeRssBytes([server.pid]);
      const loads = [0, 1].map(() => environment.worker("load/rebar-listeners"));
      await Promise.all(
        loads.map((load, at) => load.call("connect", { ...server.target, from: at * perProcess, count: perProcess })),
      );
      await sleep(settleMs);
      const rssBytes = treeRssBytes([server.pid]) - before;
      return {
        measure: async (ms) => {
          const window = await withCpu([server.pid], async () => await loadOf(loads).call<Measured>("run", { ms }));
          return { ...window, rssBytes };
        },
        async close() {
          for (const load of loads) await load.close();
          await server.stop();
        },
      };
    },
  });
  const line = (metric: string, unit: string, value: Line["value"]) =>
    ({ metric, unit, better: "less", value, ours: "up", floor: "bare" }) as const;
  return {
    id: "R2",
    title: `${listeners} event streams, each for one machine`,
    isCold: true,
    candidates: [candidate("bare", "floor"), candidate("up", "ours")],
    lines: [
      {
        ...line("memory of all", "MB", ({ rssBytes = NaN }) => rssBytes / 1e6),
        hold: [{ to: "bare", ratio: 1.6 }],
        goal: [{ to: "bare", ratio: 1.2 }],
      },
      line("memory of one", "KiB", ({ rssBytes = NaN }) => rssBytes / listeners / 1024),
      { ...line("change sent -> its one listener told, p50", "ms", ({ p50 = NaN }) => p50), hold: [{ ratio: 50 }] },
      line("change sent -> its one listener told, p99", "ms", ({ p99 = NaN }) => p99),
    ],
  };
}

function loadOf<T>(loads: readonly T[]): T {
  const [first] = loads;
  if (first === undefined) throw new Error("no load was started");
  return first;
}

interface Server {
  readonly pid: number;
  readonly target: RebarTarget;
  readonly stop: () => Promise<void>;
}

async function startServer(
  environment: Environment,
  role: Role,
  floor: "floors/puts" | "floors/sockets",
): Promise<Server> {
  const dir = await environment.directory();
  if (role === "floor") {
    const worker = environment.worker(floor);
    const target = await worker.call<RebarTarget>("start", { dir });
    return { pid: worker.pid, target, stop: () => worker.close() };
  }
  const { profiles } = environment;
  const flags = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
  const up = [ownCommand(environment), "up", "--data-dir", dir, "--port", "0", "--rebar-listen", "127.0.0.1:0"];
  const program = await startProgram([...flags, ...up], reachable);
  environment.onClose(program.stop);
  const [, port] = reachable.exec(program.said) ?? [];
  const ca = readFileSync(join(dir, "rebar", "pki", "rebar.crt"), "utf8");
  const key = readFileSync(join(dir, "rebar", "rs-key"), "utf8").trim();
  const authorization = `Basic ${Buffer.from(key).toString("base64")}`;
  return { pid: program.pid, target: { port: Number(port), ca, authorization }, stop: program.stop };
}

const reachable = /reachable .* at 127\.0\.0\.1:(\d+)\n/;
