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

// Kubernetes' defaults and validation. The controllers are in #kernel/workloads.

/** Written into the template, so that the template hash does not change with a default. */
const withTemplateDefaults = (spec: JsonObject): JsonObject =>
  mapMember(spec, "template", (template) => mapMember(template, "spec", withPodSpecDefaults));

const withReplicaSetDefaults = (set: JsonObject): JsonObject =>
  mapMember(set, "spec", (spec) => withTemplateDefaults(withAbsent(spec, { replicas: 1 })));

const withDeploymentDefaults = (deployment: JsonObject): JsonObject =>
  mapMember(deployment, "spec", (spec) =>
    withTemplateDefaults(
      withStrategy(withAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })),
    ),
  );

function withStrategy(spec: JsonObject): JsonObject {
  const strategy = withUnset(objectAt(spec, "strategy") ?? {}, { type: "RollingUpdate" });
  if (strategy["type"] !== "RollingUpdate") return { ...spec, strategy };
  const rolling = withAbsent(objectAt(strategy, "rollingUpdate") ?? {}, { maxSurge: "25%", maxUnavailable: "25%" });
  return { ...spec, strategy: { ...strategy, rollingUpdate: rolling } };
}

const at: FieldPath = ["spec"];

/** Sizes, a non-empty selector that matches the template, and Pods that always restart. */
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

/** Containers of a StatefulSet may mount its claims, which become volumes of each Pod. */
function withClaimVolumes(podSpec: JsonObject, spec: JsonObject): JsonObject {
  const volumes = listAt(podSpec, "volumes");
  const names = new Set(objectsAt(podSpec, "volumes").map((volume) => textAt(volume, "name")));
  const claims = objectsAt(spec, "volumeClaimTemplates")
    .map((claim) => textAt(claim, "metadata", "name"))
    .filter((name) => name !== undefined && !names.has(name))
    .map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return claims.length === 0 ? podSpec : { ...podSpec, volumes: [...volumes, ...claims] };
}

/** Required in apps/v1. */
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

/** Without a Pod more or less nothing could be replaced. */
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

/** The rollout handles a percentage that rounds to 0. */
const isNothing = (value: JsonValue | undefined): boolean => value === 0 || value === "0%";

function countProblem(value: JsonValue | undefined, isShareOfAll: boolean): string | undefined {
  if (typeof value === "number") return value < 0 ? "must be greater than or equal to 0" : undefined;
  if (typeof value !== "string") return undefined;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined)
    return "a valid percent string must be a numeric string followed by an ending '%', such as '25%'";
  return isShareOfAll && Number(percent) > 100 ? "must not be greater than 100%" : undefined;
}

/** With another selector the existing Pods would belong to nobody. */
const selectorIsImmutable: Rule = (object, { errors }, old) => {
  const [after, before] = [valueAt(object, "spec", "selector"), valueAt(old, "spec", "selector")];
  if (!jsonEquals(after, before)) errors.push(fieldError.invalid("spec.selector", after, "field is immutable"));
};

const replicaPaths: ScalePaths = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  selector(object) {
    const selector = readLabelSelector(valueAt(object, "spec", "selector"));
    return selector.ok ? formatLabelSelector(selector.value) : "";
  },
};

/** The status starts with a count, for `kubectl scale` and the table. */
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

/** A claim template is stored as the claim it becomes. */
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

/** Other fields name Pods and claims. */
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
