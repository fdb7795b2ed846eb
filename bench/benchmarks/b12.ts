import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { withCpu } from "../harness/candidates.ts";
import { ownCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import type { Benchmark, Candidate, CandidateSource, Measured } from "../harness/types.ts";
import { sized } from "../harness/sizes.ts";

const megabytes = ({ rssBytes = NaN }: Measured): number => rssBytes / 1e6;
const percentOfCore = ({ cpuUs, ms }: Measured): number => cpuUs / 10 / ms;
/** CPU time is counted in hundredths of a second. */
const idleMs = sized(10_000);

const bareServer =
  'require("http").createServer((q, r) => r.end("ok")).listen(0, "127.0.0.1", () => console.log("http://"))';

/** `slipway up` that nobody asks for anything, with all of its processes (P12). */
export function b12(environment: Environment): Benchmark {
  const up = (directory: string) => [ownCommand(environment), "up", "--data-dir", directory, "--port", "0"];
  return {
    id: "B12",
    title: "idle server",
    windowMs: idleMs,
    isCold: true,
    candidates: [
      idle(environment, "bare", "floor", () => ["-e", bareServer]),
      idle(environment, "up", "ours", up),
      idle(environment, "after a step", "ours", up, (directory) => runStep(environment, directory)),
      starting(environment, "start", up),
    ],
    lines: [
      {
        metric: "memory, nothing has run",
        unit: "MB",
        better: "less",
        value: megabytes,
        ours: "up",
        floor: "bare",
        hold: [{ ratio: 90 }],
      },
      {
        metric: "memory after a host step, with the runner",
        unit: "MB",
        better: "less",
        value: megabytes,
        ours: "after a step",
        floor: "bare",
      },
      {
        metric: "CPU, percent of a core",
        unit: "%",
        better: "less",
        value: percentOfCore,
        ours: "up",
        floor: "bare",
        hold: [{ ratio: 0.5 }],
        goal: [{ ratio: 0.3 }],
      },
      {
        metric: "start with a data directory that is there",
        unit: "ms",
        better: "less",
        value: ({ ops, ms }) => ms / ops,
        ours: "start",
        hold: [{ ratio: 1000 }],
      },
    ],
  };
}

export interface Program {
  readonly pid: number;
  /** What it has said until it was ready. */
  readonly said: string;
  readonly stop: () => Promise<void>;
}

/** Resolves when it has said where it serves, or what it is waited for. */
export function startProgram(args: readonly string[], awaited = /http/): Promise<Program> {
  const child = spawn(process.execPath, [...args], { stdio: ["ignore", "pipe", "ignore"] });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const program = {
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (part: Buffer) => {
      said += part.toString("utf8");
      if (awaited.test(said)) resolve({ ...program, said });
    });
    void exited.then(() => reject(new Error(`${args.join(" ")} ended before it served`)));
  });
}

function idle(
  environment: Environment,
  name: string,
  role: "ours" | "floor",
  args: (directory: string) => readonly string[],
  prepare: (directory: string) => Promise<void> = () => Promise.resolve(),
): CandidateSource {
  return {
    name,
    role,
    async start(): Promise<Candidate> {
      const directory = await environment.directory();
      const program = await startProgram(args(directory));
      try {
        await prepare(directory);
      } catch (thrown) {
        await program.stop();
        throw thrown;
      }
      return {
        measure: (ms) =>
          withCpu([program.pid], async () => {
            const start = performance.now();
            await sleep(ms);
            return { ops: 1, ms: performance.now() - start, rssBytes: treeRssBytes([program.pid]) };
          }),
        close: () => program.stop(),
      };
    },
  };
}

/** One host step on the server of this directory. */
async function runStep(environment: Environment, directory: string): Promise<void> {
  const file = join(environment.home, "..", "examples", "workflow", "hello.yaml");
  const args = ["run", "--kubeconfig", join(directory, "kubeconfig"), file];
  await promisify(execFile)(process.execPath, [ownCommand(environment), ...args]);
  // Of the step there is something left: it was this server's.
  if (!existsSync(join(directory, "runner", "journal"))) throw new Error("the step was carried out somewhere else");
}

/** From the start of the process to its first answer. */
function starting(
  environment: Environment,
  name: string,
  args: (directory: string) => readonly string[],
): CandidateSource {
  return {
    name,
    role: "ours",
    async start(): Promise<Candidate> {
      const directory = await environment.directory();
      // The first start makes keys and certificates, which is another thing.
      await (await startProgram(args(directory))).stop();
      return {
        measure: () =>
          withCpu([process.pid], async () => {
            const start = performance.now();
            const program = await startProgram(args(directory));
            const ms = performance.now() - start;
            await program.stop();
            return { ops: 1, ms };
          }),
        close: () => Promise.resolve(),
      };
    },
  };
}
