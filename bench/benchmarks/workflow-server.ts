import { rm } from "node:fs/promises";
import { join } from "node:path";
import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Candidate, CandidateSource, Measured } from "../harness/types.ts";
import { type RunKind, stepsOf } from "../ours/workflows.ts";

export interface ServerLoad {
  readonly kind: RunKind;
  readonly inFlight: number;
  readonly pauseMs?: number;
}

/** Our server in one process, the callers in another. Every window has a server with an empty store. */
export function serverCandidate(
  environment: Environment,
  name: string,
  module: "ours/workflow-server" | "ours/host-server",
  load: ServerLoad,
): CandidateSource {
  const runnerPath = join(environment.home, "..", "dist", "runner.cjs");
  return {
    name,
    role: "ours",
    async start(): Promise<Candidate> {
      const server = environment.worker(module, { isOurs: true });
      const callers = environment.worker("load/http-runs");
      const checks = module === "ours/workflow-server";
      return {
        async measure(ms) {
          const dir = await environment.directory();
          const endpoint = await server.call<object>("start", { dir, runnerPath });
          await callers.call("connect", { ...endpoint, connections: load.inFlight });
          const window = await withCpu([server.pid], () => callers.call<Measured>("run", { ...load, ms }));
          const seen = checks ? await server.call<Seen>("seen") : undefined;
          await callers.call("disconnect");
          await server.call("stop");
          await rm(dir, { recursive: true, force: true });
          const expected = window.ops * stepsOf(load.kind);
          if (seen !== undefined && seen.effects !== expected)
            throw new Error(`${seen.effects} steps were carried out, expected ${expected}`);
          return seen === undefined ? window : { ...window, heldMs: seen.heldMs };
        },
        async close() {
          await callers.close();
          await server.close();
        },
      };
    },
  };
}

interface Seen {
  readonly effects: number;
  readonly heldMs: number;
}
