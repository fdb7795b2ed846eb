import { playObjects } from "./runs-object.ts";
import { playRuns, type RunLoad } from "./runs.ts";

// The same objects, of which every transition makes durable only what has changed; their bytes are made when somebody reads.

export const run = (load: RunLoad) =>
  playRuns(
    playObjects(({ metadata }, path, value) => ({
      name: metadata.name,
      revision: metadata.resourceVersion,
      path,
      value,
    })),
    load,
  );
