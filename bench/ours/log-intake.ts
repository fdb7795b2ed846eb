import { rm } from "node:fs/promises";
import { join } from "node:path";
import { countLines } from "#dialects/wharf/results/log-line.ts";
import { followLogs } from "#dialects/wharf/results/follow-logs.ts";
import { createResults } from "#dialects/wharf/results/results-store.ts";
import { systemClock } from "#lib/base/index.ts";
import { type Load, print } from "../load/printed-lines.ts";

/** The log of a host step as a worker stores it: stamped, indexed, flushed at its end; with so many who follow it meanwhile. */
export const run = ({ followers = 0, ...load }: Load & { readonly followers?: number }) =>
  print(load, async (output) => {
    const results = await createResults(join(load.dir, "results"), build, { clock: systemClock });
    const following = Array.from({ length: followers }, async () => {
      let lines = 0;
      for await (const { bytes } of followLogs(results)) lines += countLines(bytes);
      return lines;
    });
    const log = await results.openLog(1, { onDrain: () => output.resume() });
    output.on("data", (chunk: Buffer) => {
      if (!log.append("stdout", chunk)) output.pause();
    });
    await new Promise((resolve) => output.once("close", resolve));
    await results.setStatus(1, "Success", 0);
    await results.freeze();
    const seen = [results.logs[0]?.lines ?? 0, ...(await Promise.all(following))];
    await rm(results.directory, { recursive: true });
    return Math.min(...seen);
  });

const build = {
  buildId: 1,
  projectId: 1,
  instance: "local",
  runtime: "host",
  definitionSha256: "00",
  stages: [{ stageId: 1, name: "build", runsIf: "success" }],
  steps: [{ stepId: 1, stageId: 1, name: "print", type: "container", image: "" }],
} as const;
