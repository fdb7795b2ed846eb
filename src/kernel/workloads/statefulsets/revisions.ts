import { jsonEquals } from "#lib/base/index.ts";
import { asJson, controllerReference, type Stored } from "#kernel/model/index.ts";
import type { PodTemplate } from "../deployment-types.ts";
import type { RevisionObject, StatefulSetObject } from "../stateful-set-types.ts";
import { templateHash } from "../template-hash.ts";

type Revision = Stored<RevisionObject>;

/** `known` is the stored revision of the current template; without it `made` is to be stored. */
export function revisionFor(
  set: Stored<StatefulSetObject>,
  all: readonly Revision[],
): { readonly known: Revision | undefined; readonly made: RevisionObject } {
  const revision = Math.max(0, ...all.map((one) => one.revision)) + 1;
  const hash = templateHash(set, set.status?.collisionCount);
  const { metadata: { labels = {} } = {} } = set.spec.template;
  const made: RevisionObject = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `${set.metadata.name.slice(0, 230)}-${hash}`,
      namespace: set.metadata.namespace ?? "",
      labels: { ...labels, "controller.kubernetes.io/hash": hash },
      annotations: set.metadata.annotations ?? {},
      ownerReferences: [controllerReference(set)],
    },
    data: { spec: { template: { ...set.spec.template, $patch: "replace" } } },
    revision,
  };
  return { known: all.find((one) => jsonEquals(asJson(one)["data"], asJson(made)["data"])), made };
}

export function templateIn({ data }: RevisionObject): PodTemplate {
  const { $patch: _replace, ...template } = data.spec.template;
  return template;
}

/** Revisions beyond `revisionHistoryLimit` (10), oldest first. Those in use stay. */
export function outdated(
  { spec: { revisionHistoryLimit = 10 } }: StatefulSetObject,
  known: readonly Revision[],
  used: ReadonlySet<string | undefined>,
): readonly Revision[] {
  const unused = known.filter(({ metadata }) => !used.has(metadata.name)).toSorted((a, b) => a.revision - b.revision);
  return unused.slice(0, Math.max(0, unused.length - revisionHistoryLimit));
}
