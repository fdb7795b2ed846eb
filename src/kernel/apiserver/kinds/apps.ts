import {
  type FieldPath,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { formatLabelSelector, matchesLabels, readLabelSelector } from "#kernel/kit/index.ts";
import { Deployment, ReplicaSet, StatefulSet } from "#kernel/model/index.ts";
import {
  checkNotNegative,
  checkOneOf,
  checkPodSpec,
  checkTemplateMetadata,
  definitionNames,
  type Findings,
  mapItems,
  mapMember,
  scalarText,
  withAbsent,
  withMembers,
  withPodSpecDefaults,
  withUnset,
} from "#kernel/specs/index.ts";
import { deploymentTable, replicaSetTable, statefulSetTable } from "../tables/apps.ts";
import type { BuiltIn, Rule } from "./built-in.ts";
import type { ScalePaths } from "./served-resource.ts";

// Kinds of apps/v1 that keep Pods alive, as they are stored: Kubernetes' defaults and its validation (apps/v1). What keeps them
// alive is in #kernel/workloads.

/** Defaults of the Pods to come are written into the template, so that the template hash does not change when a default does. */
const withTemplateDefaults = (spec: JsonObject): JsonObject =>
  mapMember(spec, "template", (template) => mapMember(template, "spec", withPodSpecDefaults));

const withReplicaSetDefaults = (set: JsonObject): JsonObject =>
  mapMember(set, "spec", (spec) => withTemplateDefaults(withAbsent(spec, { replicas: 1 })));

/**
 * Kubernetes' defaults of apps/v1: ten old ReplicaSets for undoing, and ten minutes without progress until the rollout counts as
 * stuck.
 */
const withDeploymentDefaults = (deployment: JsonObject): JsonObject =>
  mapMember(deployment, "spec", (spec) =>
    withTemplateDefaults(
      withStrategy(withAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })),
    ),
  );

/** A quarter more and a quarter less, so that an update needs no thought. Recreate has no such numbers. */
function withStrategy(spec: JsonObject): JsonObject {
  const strategy = withUnset(objectAt(spec, "strategy") ?? {}, { type: "RollingUpdate" });
  if (strategy["type"] !== "RollingUpdate") return { ...spec, strategy };
  const rolling = withAbsent(objectAt(strategy, "rollingUpdate") ?? {}, { maxSurge: "25%", maxUnavailable: "25%" });
  return { ...spec, strategy: { ...strategy, rollingUpdate: rolling } };
}

const at: FieldPath = ["spec"];

/** What both kinds demand: sizes, a selector that is not empty and selects the template's Pods, and Pods that never end by themselves. */
const replicasRule: Rule = (object, found) => {
  const spec = objectAt(object, "spec") ?? {};
  const report = (error: Findings["errors"][number]) => void found.errors.push(error);
  checkNotNegative(spec, ["replicas", "minReadySeconds"], at, report);
  checkSelector(spec, found);
  const template = objectAt(spec, "template") ?? {};
  const here = [...at, "template"];
  checkTemplateMetadata(template, here, found);
  const podSpec = objectAt(template, "spec");
  if (podSpec === undefined) return report(fieldError.required([...here, "spec"]));
  checkPodSpec(withClaimVolumes(podSpec, spec), [...here, "spec"], found);
  checkOneOf(podSpec, "restartPolicy", ["Always"], [...here, "spec"], report);
  if (valueAt(podSpec, "activeDeadlineSeconds") !== undefined)
    report(
      fieldError.forbidden([...here, "spec", "activeDeadlineSeconds"], "Pods that are kept alive have no deadline"),
    );
};

/** Containers of a StatefulSet mount its claims, which become volumes of each Pod. */
function withClaimVolumes(podSpec: JsonObject, spec: JsonObject): JsonObject {
  const volumes = listAt(podSpec, "volumes");
  const names = new Set(objectsAt(podSpec, "volumes").map((volume) => textAt(volume, "name")));
  const claims = objectsAt(spec, "volumeClaimTemplates")
    .map((claim) => textAt(claim, "metadata", "name"))
    .filter((name) => name !== undefined && !names.has(name))
    .map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return claims.length === 0 ? podSpec : { ...podSpec, volumes: [...volumes, ...claims] };
}

/**
 * The selector is required in apps/v1: a default taken from the template, as extensions/v1beta1 had it, would change with the
 * template.
 */
function checkSelector(spec: JsonObject, { errors }: Findings): void {
  const value = valueAt(spec, "selector");
  const here = [...at, "selector"];
  if (value === undefined) return void errors.push(fieldError.required(here));
  const selector = readLabelSelector(value);
  if (!selector.ok) return void errors.push(fieldError.invalid(here, value, selector.error));
  if (selector.value.length === 0)
    return void errors.push(fieldError.invalid(here, value, "empty selector is invalid: it would select every Pod"));
  const labels = objectAt(spec, "template", "metadata", "labels") ?? {};
  const texts = Object.fromEntries(Object.entries(labels).map(([key, label]) => [key, scalarText(label)]));
  if (!matchesLabels(selector.value, texts))
    errors.push(
      fieldError.invalid(
        [...at, "template", "metadata", "labels"],
        labels,
        "`selector` does not match template `labels`",
      ),
    );
}

/**
 * A deadline that is over before a Pod can count as available would fail every rollout. Numbers of a rolling update next to
 * Recreate are refused, not ignored.
 */
const deploymentRule: Rule = (deployment, { errors }) => {
  const spec = objectAt(deployment, "spec") ?? {};
  const report = (error: (typeof errors)[number]) => void errors.push(error);
  checkNotNegative(spec, ["revisionHistoryLimit", "progressDeadlineSeconds"], at, report);
  const deadline = numberAt(spec, "progressDeadlineSeconds");
  if (deadline !== undefined && deadline <= (numberAt(spec, "minReadySeconds") ?? 0))
    report(fieldError.invalid([...at, "progressDeadlineSeconds"], deadline, "must be greater than minReadySeconds"));
  const strategy = objectAt(spec, "strategy") ?? {};
  const here = [...at, "strategy"];
  checkOneOf(strategy, "type", ["Recreate", "RollingUpdate"], here, report);
  const rolling = objectAt(strategy, "rollingUpdate");
  if (rolling === undefined) return;
  if (textAt(strategy, "type") === "Recreate")
    return report(
      fieldError.forbidden([...here, "rollingUpdate"], 'may not be specified when strategy `type` is "Recreate"'),
    );
  checkRolling(rolling, [...here, "rollingUpdate"], report);
};

/** At least one of the two must leave room: with neither a Pod more nor a Pod less nothing could ever be replaced. */
function checkRolling(
  rolling: JsonObject,
  here: FieldPath,
  report: (error: ReturnType<typeof fieldError.invalid>) => void,
): void {
  for (const name of ["maxSurge", "maxUnavailable"]) {
    const value = valueAt(rolling, name);
    const problem = countProblem(value, name === "maxUnavailable");
    if (problem !== undefined) report(fieldError.invalid([...here, name], value, problem));
  }
  if (isNothing(valueAt(rolling, "maxSurge")) && isNothing(valueAt(rolling, "maxUnavailable")))
    report(
      fieldError.invalid(
        [...here, "maxUnavailable"],
        valueAt(rolling, "maxUnavailable"),
        "may not be 0 when `maxSurge` is 0",
      ),
    );
}

/** As it was written. A share that rounds to nothing is seen to by the rollout itself, which then takes one Pod away. */
const isNothing = (value: JsonValue | undefined): boolean => value === 0 || value === "0%";

/** A count of at least 0, or a percentage; more than all cannot be missing. */
function countProblem(value: JsonValue | undefined, isShareOfAll: boolean): string | undefined {
  if (typeof value === "number") return value < 0 ? "must be greater than or equal to 0" : undefined;
  if (typeof value !== "string") return undefined;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined)
    return "a valid percent string must be a numeric string followed by an ending '%', such as '25%'";
  return isShareOfAll && Number(percent) > 100 ? "must not be greater than 100%" : undefined;
}

/** Pods are found by the selector alone: with another one those there are would belong to nobody. */
const selectorIsImmutable: Rule = (object, { errors }, old) => {
  const [after, before] = [valueAt(object, "spec", "selector"), valueAt(old, "spec", "selector")];
  if (!jsonEquals(after, before)) errors.push(fieldError.invalid("spec.selector", after, "field is immutable"));
};

/** Both kinds have the same three members in the same places. */
const replicaPaths: ScalePaths = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  selector(object) {
    const selector = readLabelSelector(valueAt(object, "spec", "selector"));
    return selector.ok ? formatLabelSelector(selector.value) : "";
  },
};

/**
 * Changing `spec` raises the generation; the status begins with a count, so that `kubectl scale` and the table have one before
 * the controller has looked.
 */
export const replicaSetKind: BuiltIn = {
  type: ReplicaSet,
  definition: definitionNames.replicaSet,
  table: replicaSetTable,
  subresources: ["status", "scale"],
  scale: replicaPaths,
  hasGeneration: true,
  defaults: withReplicaSetDefaults,
  prepareForCreate: (set) => ({ ...set, status: { replicas: 0 } }),
  rules: [replicasRule],
  updateRules: [selectorIsImmutable],
  fields: { "status.replicas": (set) => String(numberAt(set, "status", "replicas") ?? 0) },
};

/** Served with `scale`, by which autoscalers and `kubectl scale` change the replicas without knowing the kind. */
export const deploymentKind: BuiltIn = {
  type: Deployment,
  definition: definitionNames.deployment,
  table: deploymentTable,
  subresources: ["status", "scale"],
  scale: replicaPaths,
  hasGeneration: true,
  defaults: withDeploymentDefaults,
  prepareForCreate: (deployment) => ({ ...deployment, status: {} }),
  rules: [replicasRule, deploymentRule],
  updateRules: [selectorIsImmutable],
};

/** Kubernetes' defaults of apps/v1; a claim template is stored as the claim that it will be. */
const withStatefulSetDefaults = (set: JsonObject): JsonObject =>
  mapMember(set, "spec", (spec) =>
    mapItems(
      withTemplateDefaults(
        withUpdateStrategy(
          withAbsent(spec, {
            replicas: 1,
            podManagementPolicy: "OrderedReady",
            revisionHistoryLimit: 10,
            persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
          }),
        ),
      ),
      "volumeClaimTemplates",
      (claim) =>
        mapMember(
          { ...claim, apiVersion: "v1", kind: "PersistentVolumeClaim", status: { phase: "Pending" } },
          "spec",
          (claimed) => withAbsent(claimed, { volumeMode: "Filesystem" }),
        ),
    ),
  );

function withUpdateStrategy(spec: JsonObject): JsonObject {
  const updateStrategy = withUnset(objectAt(spec, "updateStrategy") ?? {}, { type: "RollingUpdate" });
  if (updateStrategy["type"] !== "RollingUpdate") return { ...spec, updateStrategy };
  const rollingUpdate = withAbsent(objectAt(updateStrategy, "rollingUpdate") ?? {}, { partition: 0 });
  return { ...spec, updateStrategy: { ...updateStrategy, rollingUpdate } };
}

/** Policies have two values each; Pods, claims and ordinals are counted from 0. */
const statefulSetRule: Rule = (set, { errors }) => {
  const spec = objectAt(set, "spec") ?? {};
  const report = (error: (typeof errors)[number]) => void errors.push(error);
  checkNotNegative(spec, ["revisionHistoryLimit"], at, report);
  checkNotNegative(objectAt(spec, "ordinals") ?? {}, ["start"], [...at, "ordinals"], report);
  checkOneOf(spec, "podManagementPolicy", ["OrderedReady", "Parallel"], at, report);
  const strategy = objectAt(spec, "updateStrategy") ?? {};
  const here = [...at, "updateStrategy"];
  checkOneOf(strategy, "type", ["OnDelete", "RollingUpdate"], here, report);
  const rolling = objectAt(strategy, "rollingUpdate");
  if (rolling !== undefined && textAt(strategy, "type") === "OnDelete")
    report(fieldError.invalid([...here, "rollingUpdate"], rolling, "only allowed for updateStrategy 'RollingUpdate'"));
  checkNotNegative(rolling ?? {}, ["partition"], [...here, "rollingUpdate"], report);
  const kept = objectAt(spec, "persistentVolumeClaimRetentionPolicy") ?? {};
  for (const name of ["whenDeleted", "whenScaled"])
    checkOneOf(kept, name, ["Delete", "Retain"], [...at, "persistentVolumeClaimRetentionPolicy"], report);
};

/** What names Pods and claims stays: those there are would belong to nobody. */
const changeable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];
const statefulSetChangeRule: Rule = (set, { errors }, old) => {
  const fixed = (object: JsonObject | undefined): JsonObject =>
    withMembers(objectAt(object, "spec") ?? {}, Object.fromEntries(changeable.map((name) => [name, undefined])));
  if (!jsonEquals(fixed(set), fixed(old)))
    errors.push(
      fieldError.forbidden(
        at,
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ),
    );
};

/** Pods with names and claims of their own. */
export const statefulSetKind: BuiltIn = {
  type: StatefulSet,
  definition: definitionNames.statefulSet,
  table: statefulSetTable,
  subresources: ["status", "scale"],
  scale: replicaPaths,
  hasGeneration: true,
  defaults: withStatefulSetDefaults,
  prepareForCreate: (set) => ({ ...set, status: { replicas: 0, availableReplicas: 0 } }),
  rules: [replicasRule, statefulSetRule],
  updateRules: [statefulSetChangeRule],
};
