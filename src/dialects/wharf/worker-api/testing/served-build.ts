import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { HttpDoor } from "../../http/index.ts";
import { createResults, type ResultsStore } from "../../results/results-store.ts";
import { newBuild } from "../../results/testing/new-build.ts";
import { serveResults, type ServeResultsOptions } from "../serve-results.ts";

export interface ServedBuild {
  readonly results: ResultsStore;
  readonly door: HttpDoor;
  url(path: string): string;
  /** Ends the step. */
  print(stepId: number, text: string): Promise<void>;
  leave(stepId: number, name: string, content: string): Promise<void>;
  end(): Promise<void>;
  close(): Promise<void>;
}

export async function serveBuild(steps: number, options: Partial<ServeResultsOptions> = {}): Promise<ServedBuild> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-worker-api-"));
  const results = await createResults(join(directory, "7"), newBuild(steps), { clock: systemClock });
  const door = await serveResults(results, {
    address: "127.0.0.1:0",
    clock: systemClock,
    log: silentLog,
    ...options,
  });
  return {
    results,
    door,
    url: (path) => `http://${door.address}${path}`,
    async print(stepId, text) {
      await results.setStatus(stepId, "Running");
      (await results.openLog(stepId)).append("stdout", Buffer.from(text));
      await results.setStatus(stepId, "Success", 0);
    },
    async leave(stepId, name, content) {
      const source = {
        name,
        async *open() {
          yield Buffer.from(content);
        },
      };
      await results.addArtifacts(stepId, [source]);
    },
    async end() {
      await results.finish({ status: "Success" });
      await results.freeze();
    },
    async close() {
      await results.close();
      await door.close();
      await rm(directory, { recursive: true });
    },
  };
}
