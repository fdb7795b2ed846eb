import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Workflow } from "./kinds.ts";
import { scheduledAt } from "./scheduled-at.ts";

export const resubmittedFrom = "slipway.dev/resubmitted-from";
/** Uid of that run, if results of unchanged steps are reused. */
export const reuseFrom = "slipway.dev/reuse-from";

export const reusedReason = "Reused";

/** Annotations about the earlier run. The scheduled time is kept, because expressions use it. */
const isOwn = (name: string): boolean =>
  name.startsWith("kubectl.kubernetes.io/") ||
  (name.startsWith("slipway.dev/") && name !== scheduledAt) ||
  name === "deployment.kubernetes.io/revision";

/** A new run of the same spec, with a generated name. */
export function resubmission(former: Workflow, options: { readonly reuse: boolean }): KubeObject {
  const { apiVersion, kind, metadata, spec } = former;
  const { name = "", namespace, labels = {}, uid = "", annotations = {} } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !isOwn(key));
  // Labels of a parent do not apply: the new run has none, and logs would be attributed wrongly.
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

function withoutSuspend(spec: unknown): JsonObject {
  const { suspend: _held, ...rest } = isJsonObject(spec) ? spec : {};
  return rest;
}
