import { defined, objectAt, textsAt } from "#lib/base/index.ts";
import { type KubeObject } from "#kernel/model/index.ts";
import { type App, type Component, withSubSteps } from "../app.ts";
import { auxiliaryWorkload, label, textsOf } from "../labels.ts";
import { overrideComponents } from "../policies/override.ts";
import { componentRevision } from "../render/context.ts";
import type { TrackedObject } from "./tracker.ts";

/** The tracked objects of one component at one place. */
export interface TrackedGroup {
  readonly component: Component;
  readonly cluster: string;
  readonly namespace: string;
  readonly objects: readonly TrackedObject[];
}

/** What is known of an object without its cluster. */
export const trackedObject = ({ raw, apiVersion, kind, namespace, name }: TrackedObject): KubeObject => ({
  ...raw,
  apiVersion,
  kind,
  metadata: { ...objectAt(raw, "metadata"), name, ...defined({ namespace }) },
});

/** One group for each workload; objects without a workload of their namespace belong to the component's first one. */
export function groupTracked(app: App, objects: readonly TrackedObject[]): readonly TrackedGroup[] {
  const workloads = objects.filter(({ role, component }) => role === "WORKLOAD" && component !== undefined);
  return workloads.map((workload) => {
    const isSame = (one: TrackedObject): boolean =>
      one.cluster === workload.cluster &&
      one.component === workload.component &&
      one.replicaKey === workload.replicaKey;
    const siblings = workloads.filter(isSame);
    const own = objects.filter((one) => {
      if (one.role !== "TRAIT" || one.component !== workload.component || one.replicaKey !== workload.replicaKey)
        return false;
      if (one.cluster !== workload.cluster && one.cluster !== "local") return false;
      return siblings.some(({ namespace }) => namespace === one.namespace)
        ? one.namespace === workload.namespace
        : siblings[0] === workload;
    });
    return {
      component: componentOf(app, workload, objects),
      cluster: workload.cluster,
      namespace: workload.namespace ?? app.identity.namespace,
      objects: [workload, ...own],
    };
  });
}

/** Components as written, and as the overrides of steps change them. */
function variantsOf({ components, policies, workflow }: App): readonly Component[] {
  const steps = withSubSteps(workflow.steps);
  const named = steps.map(({ properties }) => textsAt(properties, "policies"));
  const changed = named.flatMap((names) =>
    overrideComponents(
      components,
      names.flatMap((name) => policies.find((policy) => policy.name === name) ?? []),
    ),
  );
  return [...components, ...changed];
}

/** As it was placed: overrides may have changed its type and its traits. */
function componentOf(app: App, workload: TrackedObject, objects: readonly TrackedObject[]): Component {
  const name = workload.component ?? "";
  const labels = textsOf(objectAt(workload.raw, "metadata", "labels"));
  const found =
    variantsOf(app).find((one) => one.name === name && componentRevision(one) === labels[label.revision]) ??
    app.components.find((one) => one.name === name);
  const type = labels[label.workloadType] ?? found?.type ?? "";
  const ofComponent = objects.filter((one) => one.component === name && one.trait !== undefined);
  const isPlaced = (trait: string): boolean =>
    ofComponent.some((one) => one.trait === trait && one.cluster === workload.cluster);
  const isPlacedElsewhere = (trait: string): boolean => ofComponent.some((one) => one.trait === trait);
  const listed = (found?.traits ?? []).filter((trait) => isPlaced(trait.type) || !isPlacedElsewhere(trait.type));
  const added = [...new Set(ofComponent.flatMap(({ trait = "" }) => (isPlaced(trait) ? [trait] : [])))].filter(
    (trait) => trait !== auxiliaryWorkload && !listed.some((one) => one.type === trait),
  );
  return {
    name,
    type,
    properties: found?.type === type ? found.properties : {},
    traits: [...listed, ...added.map((trait) => ({ type: trait, properties: {} }))],
    dependsOn: found?.dependsOn ?? [],
    inputs: [],
    outputs: [],
    ...defined({ replicaKey: workload.replicaKey }),
  };
}
