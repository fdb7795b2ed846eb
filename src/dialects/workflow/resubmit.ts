import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Workflow } from "./kinds.ts";
import { scheduledAt } from "./scheduled-at.ts";

/** Name of the run whose specification this one has. */
export const resubmittedFrom = "slipway.dev/resubmitted-from";
/** Uid of that run, where its results are to be used for steps that are as they were. */
export const reuseFrom = "slipway.dev/reuse-from";

/** Reason of a step that counts as done because it was done in that run. */
export const reusedReason = "Reused";

/**
 * What servers and clients write for themselves, and what was said of the earlier run only. The time of a schedule is said of what the run
 * is for: its expressions must find it again.
 */
const isOwn = (name: string): boolean =>
  name.startsWith("kubectl.kubernetes.io/") ||
  (name.startsWith("slipway.dev/") && name !== scheduledAt) ||
  name === "deployment.kubernetes.io/revision";

/** A new run of the same specification, under a name that the server completes. */
export function resubmission(former: Workflow, options: { readonly reuse: boolean }): KubeObject {
  const { apiVersion, kind, metadata, spec } = former;
  const { name = "", namespace, labels = {}, uid = "", annotations = {} } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !isOwn(key));
  // Ours tell whose child a run is. The new one is nobody's: with them its logs would be those of a step it has nothing to do with.
  const keptLabels = Object.entries(labels).filter(([key]) => !isOwn(key));
  return {
    apiVersion,
    kind,
    metadata: {
      generateName: `${name}-`,
      ...(namespace === undefined ? {} : { namespace }),
      ...(keptLabels.length === 0 ? {} : { labels: Object.fromEntries(keptLabels) }),
      annotations: {
        ...Object.fromEntries(kept),
        [resubmittedFrom]: name,
        ...(options.reuse ? { [reuseFrom]: uid } : {}),
      },
    },
    spec: withoutSuspend(spec),
  };
}

/** A run that was held up is not to be held up again. */
function withoutSuspend(spec: unknown): JsonObject {
  const { suspend: _held, ...rest } = isJsonObject(spec) ? spec : {};
  return rest;
}
