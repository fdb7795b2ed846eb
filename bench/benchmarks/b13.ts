import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { withCpu } from "../harness/candidates.ts";
import { ownCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { mostRssBytes } from "../harness/memory.ts";
import { sized } from "../harness/sizes.ts";
import type { Benchmark, Candidate, Measured } from "../harness/types.ts";
import { startProgram } from "./b12.ts";

/** Twenty runs a second, for as long as each takes less than a second. */
const load = { kind: "brief", inFlight: 20, everyMs: 1_000 } as const;

/** `slipway up` with 20 runs a second, each a host process that is deleted after five seconds. Its Events stay. */
export function b13(environment: Environment): Benchmark {
  const start = async (): Promise<Candidate> => {
    const callers = environment.worker("load/http-runs");
    return {
      async measure(ms) {
        const directory = await environment.directory();
        const program = await startProgram([ownCommand(environment), "up", "--data-dir", directory, "--port", "0"]);
        try {
          await callers.call("connect", { ...endpointOf(directory), connections: load.inFlight });
          const window = await withCpu([program.pid], () => callers.call<Measured>("run", { ...load, ms }));
          return { ...window, rssBytes: mostRssBytes(program.pid) };
        } finally {
          await callers.call("disconnect");
          await program.stop();
          await rm(directory, { recursive: true, force: true });
        }
      },
      close: () => callers.close(),
    };
  };
  return {
    id: "B13",
    title: "busy server: 20 runs a second",
    windowMs: sized(120_000),
    isCold: true,
    candidates: [{ name: "up", role: "ours", start }],
    lines: [
      {
        metric: "most memory of the server",
        unit: "MB",
        better: "less",
        value: ({ rssBytes = NaN }) => rssBytes / 1e6,
        ours: "up",
        hold: [{ ratio: 400 }],
      },
      { metric: "runs", unit: "/s", better: "more", value: ({ ops, ms }) => (ops * 1000) / ms, ours: "up" },
    ],
  };
}

/** What the server has written down for its administrator. */
function endpointOf(directory: string) {
  const text = readFileSync(join(directory, "kubeconfig"), "utf8");
  const field = (name: string) => new RegExp(`"?${name}"?: *"?([^",\\s]+)`).exec(text)?.[1] ?? "";
  return {
    port: Number(new URL(field("server")).port),
    token: field("token"),
    ca: Buffer.from(field("certificate-authority-data"), "base64").toString("utf8"),
  };
}
