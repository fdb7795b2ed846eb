import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { inNewWorker, inWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, CandidateSource } from "../harness/types.ts";
import { sized } from "../harness/sizes.ts";

const floor = "native Go";

/** Templates rendered by the WebAssembly module, and by the same Go code outside of it where Go is installed. */
export const templates = (environment: Environment): readonly Benchmark[] => [
  benchmark(environment, "T1", "first template, from nothing to its plan", 0),
  benchmark(environment, "T2", "a template after a thousand others", sized(1000)),
];

function benchmark(environment: Environment, id: string, title: string, before: number): Benchmark {
  const dist = join(environment.home, "..", "dist");
  const files = { program: join(dist, "template-thread.cjs"), artifact: join(dist, "template.wasm") };
  const ours = { name: "WebAssembly", role: "ours", module: "ours/templates", load: { ...files, before } } as const;
  const isFirst = before === 0;
  return {
    id,
    title,
    ...(isFirst ? { isCold: true } : {}),
    candidates: [native(environment, before), (isFirst ? inNewWorker : inWorker)(environment, ours)],
    lines: [
      {
        metric: "time for a template",
        unit: "ms",
        better: "less",
        value: ({ p50 }) => p50 ?? Number.NaN,
        ours: ours.name,
        floor,
      },
      {
        metric: "CPU for a template",
        unit: "ms",
        better: "less",
        value: ({ cpuUs, ops }) => cpuUs / ops / 1000,
        ours: ours.name,
        floor,
        // The first one reads, decompresses and compiles 25 MB, where the floor starts a program.
        hold: [isFirst ? { ratio: 2000 } : { to: floor, ratio: 20 }],
      },
    ],
  };
}

/** Left out where there is no Go to build it. */
function native(environment: Environment, before: number): CandidateSource {
  const source = { name: floor, role: "floor", module: "floors/native-templates" } as const;
  return {
    ...source,
    async start() {
      const program = await environment.once("native-templates", () => buildNative(environment));
      const inProcess = before === 0 ? inNewWorker : inWorker;
      return await inProcess(environment, { ...source, load: { program, before } }).start();
    },
  };
}

/** The Go module as a program of this machine. */
export async function buildNative(environment: Environment): Promise<string> {
  const program = join(await environment.directory(), "native-templates");
  await promisify(execFile)("go", ["build", "-trimpath", "-o", program, "./cmd/native"], {
    cwd: join(environment.home, "..", "go"),
  });
  return program;
}
