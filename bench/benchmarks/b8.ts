import { join } from "node:path";
import { inNewWorker, inWorker } from "../harness/candidates.ts";
import { refuseAbsent } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { installedVersion, peersOf } from "../harness/peers.ts";
import type { Benchmark, Bound, CandidateSource } from "../harness/types.ts";
import type { CueLoadKind } from "../ours/cue.ts";
import { buildNative } from "./templates.ts";

const ours = "slipway";
const peer = "cue-wasm";
const floor = "native Go";

/** CUE steps: the first of a process, one with other data than all before, and one that is known. */
export const b8 = (environment: Environment): readonly Benchmark[] => [
  benchmark(environment, "B8", "first", "first CUE step, from nothing to its object", {
    hold: [{ to: peer, ratio: 0.8 }],
    goal: [{ to: peer, ratio: 0.4 }],
  }),
  benchmark(environment, "B8b", "warm", "a CUE step after two hundred others, with data of its own", {
    hold: [{ to: peer, ratio: 1 }],
    goal: [{ to: peer, ratio: 0.35 }],
  }),
  benchmark(environment, "B8c", "repeated", "a CUE step that was asked before", {
    hold: [{ ratio: 0.1 }],
    goal: [{ ratio: 0.02 }],
  }),
];

interface Bounds {
  readonly hold: readonly Bound[];
  readonly goal: readonly Bound[];
}

function benchmark(environment: Environment, id: string, kind: CueLoadKind, title: string, bounds: Bounds): Benchmark {
  const dist = join(environment.home, "..", "dist");
  const files = { program: join(dist, "template-thread.cjs"), artifact: join(dist, "template.wasm") };
  const start = kind === "first" ? inNewWorker : inWorker;
  return {
    id,
    title,
    ...(kind === "first" ? { isCold: true } : {}),
    candidates: [
      cueWasm(environment, kind),
      native(environment, kind),
      start(environment, { name: ours, role: "ours", module: "ours/cue", load: { ...files, kind } }),
    ],
    lines: [
      {
        metric: "time for a CUE step",
        unit: "ms",
        better: "less",
        value: ({ p50 }) => p50 ?? Number.NaN,
        ours,
        floor,
        ...bounds,
      },
    ],
  };
}

function cueWasm(environment: Environment, kind: CueLoadKind): CandidateSource {
  const entry = join(peersOf(environment), "node_modules", "cue-wasm", "dist", "cue-wasm-index.modern.js");
  const version = installedVersion(environment, "cue-wasm");
  const source = { name: peer, role: "peer", ...(version === undefined ? {} : { version }) } as const;
  return {
    ...source,
    async start() {
      refuseAbsent({ program: process.execPath, args: [entry] });
      const inProcess = kind === "first" ? inNewWorker : inWorker;
      return await inProcess(environment, { ...source, module: "load/cue-wasm", load: { entry, kind } }).start();
    },
  };
}

/** Left out where there is no Go to build it. */
function native(environment: Environment, kind: CueLoadKind): CandidateSource {
  const source = { name: floor, role: "floor", module: "floors/native-cue" } as const;
  return {
    ...source,
    async start() {
      const program = await environment.once("native-templates", () => buildNative(environment));
      const inProcess = kind === "first" ? inNewWorker : inWorker;
      return await inProcess(environment, { ...source, load: { program, kind } }).start();
    },
  };
}
