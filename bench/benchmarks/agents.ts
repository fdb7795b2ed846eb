import { setTimeout as sleep } from "node:timers/promises";
import { treeCpuUs } from "../harness/cpu.ts";
import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import { monotonicMs, type PacedWrites } from "../harness/open-loop.ts";
import { quantile } from "../harness/statistics.ts";
import type { Benchmark, CandidateSource, Line, Measured } from "../harness/types.ts";
import { actionCount } from "../ours/agents.ts";
import { Fleet, type FleetSetup } from "./fleet.ts";
import { sized } from "../harness/sizes.ts";

const many = sized(10_000);
/** Agents that have just come are not idle: the server looks through them after 20 s, and what their coming has left is collected. */
const settleMs = sized(30_000);
/** The first thousand workflows and their events cost three times as much as those after them, because code is still being compiled. */
const warmWindowMs = sized(2000);

/** Agents of Tinkerbell, each on a connection of its own: B5 while they are idle, B5b told, B5c reporting, B5d after a crash. */
export const agents = (environment: Environment): readonly Benchmark[] => [
  idle(environment),
  assignments(environment),
  reports(environment),
  restarts(environment),
];

/** Where the bounds are those of one figure and not of another candidate's. */
const share = (name: string, ours: string, floor: string, value: Line["value"]) =>
  ({ metric: name, unit: "ms", better: "less", ours, floor, value }) as const;

function idle(environment: Environment): Benchmark {
  const setup = { agents: many, isTls: false };
  return {
    id: "B5",
    title: `${many} idle agents`,
    windowMs: sized(10_000),
    isCold: true,
    candidates: bothOf(environment, setup, async (fleet, ms) => {
      await sleep(Math.max(0, fleet.connectedAt + settleMs - performance.now()));
      return await withCpu([fleet.server.pid], async () => {
        const start = performance.now();
        await sleep(ms);
        return {
          ops: many,
          ms: performance.now() - start,
          rssBytes: treeRssBytes([fleet.server.pid]) - fleet.rssBefore,
        };
      });
    }),
    lines: [
      {
        metric: "memory of an idle agent",
        unit: "KiB",
        better: "less",
        value: ({ rssBytes = NaN }) => rssBytes / many / 1024,
        ours: nameOf("server", setup),
        floor: nameOf("bare", setup),
        hold: [{ to: nameOf("bare", setup), ratio: 1.6 }],
        goal: [{ to: nameOf("bare", setup), ratio: 1.2 }],
      },
      {
        metric: "CPU while they are idle, percent of a core",
        unit: "%",
        better: "less",
        value: ({ cpuUs, ms }) => cpuUs / 10 / ms,
        ours: nameOf("server", setup),
        floor: nameOf("bare", setup),
        goal: [{ ratio: 1 }],
      },
    ],
  };
}

/** A rate for each number of agents: one can be told no sooner than it has reported. */
const rates = [
  { agents: 1, perSecond: 20, isAnsweringAtOnce: true },
  { agents: sized(1000), perSecond: 200, isAnsweringAtOnce: true },
  { agents: many, perSecond: 1000, isAnsweringAtOnce: false },
] as const;

function assignments(environment: Environment): Benchmark {
  const line = (setup: Setup & { readonly perSecond: number }, which: "p50" | "p99", bounds: Partial<Line>): Line => ({
    ...share(
      `workflow created -> ${setup.agents} agents told, ${setup.perSecond}/s, ${which}`,
      nameOf("server", setup),
      nameOf("bare", setup),
      (window) => window[which] ?? NaN,
    ),
    ...bounds,
  });
  return {
    id: "B5b",
    title: "workflows for agents, templates not carried out",
    windowMs: warmWindowMs,
    candidates: rates.flatMap(({ perSecond, ...setup }) =>
      bothOf(environment, { ...setup, isTls: false }, (fleet, ms) => assign(fleet, ms, perSecond)),
    ),
    lines: rates.flatMap((rate) => {
      const setup = { ...rate, isTls: false };
      const to = nameOf("bare", setup);
      return [
        line(setup, "p50", {}),
        line(setup, "p99", setup.agents === many ? { hold: [{ ratio: 60 }], goal: [{ to, ratio: 2.5 }] } : {}),
      ];
    }),
  };
}

/** CPU is that until all are told. */
async function assign(fleet: Fleet, ms: number, perSecond: number): Promise<Measured> {
  const { agents } = fleet.setup;
  let paced: PacedWrites | undefined;
  const figures = await withCpu([fleet.server.pid], async () => {
    await fleet.server.call("held");
    const start = performance.now();
    // No more than there are agents: each may be told one thing before it has reported.
    const most = fleet.setup.isAnsweringAtOnce === true ? ms : Math.min(ms, (agents * 1000) / perSecond);
    paced = await fleet.server.call<PacedWrites>("assign", { ms: most, perSecond, agents });
    await fleet.delivery(paced);
    return { ops: paced.writes, ms: performance.now() - start, heldMs: await fleet.server.call<number>("held") };
  });
  if (paced === undefined) throw new Error("nothing was assigned");
  const took = [...(await fleet.latencies({ ...paced, perSecond }))].sort((a, b) => a - b);
  await fleet.reportAll();
  await fleet.server.call("clear", paced);
  return { ...figures, p50: quantile(took, 0.5), p99: quantile(took, 0.99) };
}

/** So many agents report at once, each one event after the other. */
const busy = sized(1000);

function reports(environment: Environment): Benchmark {
  const setup = { agents: many, isTls: false };
  return {
    id: "B5c",
    title: `events of ${busy} agents among ${many}, each acknowledged when it is durable`,
    candidates: bothOf(environment, setup, reportOnce),
    lines: [
      {
        metric: `events acknowledged, ${busy} agents at once`,
        unit: "/s",
        better: "more",
        value: ({ ops, ms }) => (ops / ms) * 1000,
        ours: nameOf("server", setup),
        floor: nameOf("bare", setup),
      },
    ],
  };
}

async function reportOnce(fleet: Fleet): Promise<Measured> {
  const paced = await fleet.server.call<PacedWrites>("assign", { ms: 1000, perSecond: busy, agents: many });
  await fleet.delivery(paced);
  await fleet.latencies({ ...paced, perSecond: busy });
  const figures = await withCpu([fleet.server.pid], async () => {
    const start = performance.now();
    const ops = await fleet.reportAll();
    return { ops, ms: performance.now() - start };
  });
  if (figures.ops !== 2 * actionCount * paced.writes) throw new Error(`${figures.ops} events were acknowledged`);
  await fleet.server.call("clear", paced);
  return figures;
}

function restarts(environment: Environment): Benchmark {
  const line = (isTls: boolean, name: string, seconds: number): Line => {
    const setup = { agents: many, isTls };
    return {
      metric: `SIGKILL -> all ${many} agents are back, ${name}`,
      unit: "s",
      better: "less",
      value: ({ ms }) => ms / 1000,
      ours: nameOf("server", setup),
      floor: nameOf("bare", setup),
      hold: [{ ratio: 30 }],
      goal: [{ ratio: seconds }],
    };
  };
  return {
    id: "B5d",
    title: "SIGKILL of a server with idle agents, which come back as Slipway's agent does",
    isCold: true,
    candidates: [false, true].flatMap((isTls) => bothOf(environment, { agents: many, isTls }, restart)),
    lines: [line(false, "plain", 10), line(true, "TLS", 20)],
  };
}

/** From the kill on; CPU is that of the new server until all are back. */
async function restart(fleet: Fleet): Promise<Measured> {
  const begin = monotonicMs();
  await fleet.restart();
  const ms = (await fleet.allConnected()) - begin;
  return { ops: many, ms, cpuUs: treeCpuUs([fleet.server.pid]) };
}

type Setup = FleetSetup;

const nameOf = (name: string, { agents, isTls }: Setup): string => `${name} ${agents}${isTls ? " TLS" : ""}`;

const bothOf = (
  environment: Environment,
  setup: Setup,
  measure: (fleet: Fleet, ms: number) => Promise<Measured>,
): readonly CandidateSource[] =>
  (["floor", "ours"] as const).map((role) => ({
    name: nameOf(role === "ours" ? "server" : "bare", setup),
    role,
    async start() {
      const fleet = await Fleet.start(environment, role, setup);
      return { measure: (ms) => measure(fleet, ms), close: () => fleet.close() };
    },
  }));
