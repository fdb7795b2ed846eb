import { rm } from "node:fs/promises";
import { join } from "node:path";
import { withCpu } from "../harness/candidates.ts";
import { ownCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { mostRssBytes } from "../harness/memory.ts";
import { sized } from "../harness/sizes.ts";
import type { Benchmark, Candidate, Measured } from "../harness/types.ts";
import { startProgram } from "./b12.ts";

const applications = sized(200);

/** `slipway up` with applications of five steps, all created at once, until all are healthy. */
export function v1(environment: Environment): Benchmark {
  const start = async (): Promise<Candidate> => {
    const callers = environment.worker("load/applications");
    return {
      async measure() {
        const directory = await environment.directory();
        const program = await startProgram([ownCommand(environment), "up", "--data-dir", directory, "--port", "0"]);
        try {
          const load = { kubeconfig: join(directory, "kubeconfig"), applications };
          const window = await withCpu([program.pid], () => callers.call<Measured>("run", load));
          return { ...window, rssBytes: mostRssBytes(program.pid) };
        } finally {
          await program.stop();
          await rm(directory, { recursive: true, force: true });
        }
      },
      close: () => callers.close(),
    };
  };
  return {
    id: "V1",
    title: "200 applications of five steps at once until all are healthy",
    isCold: true,
    candidates: [{ name: "up", role: "ours", start }],
    lines: [
      {
        metric: "steps of applications",
        unit: "/s",
        better: "more",
        value: ({ ops, ms }) => (ops * 1000) / ms,
        ours: "up",
        goal: [{ ratio: 40 }],
      },
      {
        metric: "most memory of the server",
        unit: "MB",
        better: "less",
        value: ({ rssBytes = NaN }) => rssBytes / 1e6,
        ours: "up",
        hold: [{ ratio: 600 }],
      },
    ],
  };
}
