import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Schema } from "#lib/schema/index.ts";
import { k8sOpenApiText } from "./data/k8s-openapi.ts";

// Kubernetes' built-in types from its OpenAPI documents, in two forms: as published (`rawDefinitions`), for OpenAPI and
// strategic merge, and as structural schemas (`definition`), for pruning, zero values and types. Both are created when
// first used.

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const core = "io.k8s.api.core.v1";
const authentication = "io.k8s.api.authentication.v1";
const authorization = "io.k8s.api.authorization.v1";
const rbac = "io.k8s.api.rbac.v1";
const extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/** Definitions that code refers to; a test checks that the data has them. */
export const definitionNames = {
  objectMeta: `${meta}.ObjectMeta`,
  listMeta: `${meta}.ListMeta`,
  deleteOptions: `${meta}.DeleteOptions`,
  status: `${meta}.Status`,
  namespace: `${core}.Namespace`,
  configMap: `${core}.ConfigMap`,
  secret: `${core}.Secret`,
  serviceAccount: `${core}.ServiceAccount`,
  coreEvent: `${core}.Event`,
  event: "io.k8s.api.events.v1.Event",
  pod: `${core}.Pod`,
  service: `${core}.Service`,
  node: `${core}.Node`,
  persistentVolumeClaim: `${core}.PersistentVolumeClaim`,
  persistentVolume: `${core}.PersistentVolume`,
  endpoints: `${core}.Endpoints`,
  replicationController: `${core}.ReplicationController`,
  resourceQuota: `${core}.ResourceQuota`,
  job: "io.k8s.api.batch.v1.Job",
  cronJob: "io.k8s.api.batch.v1.CronJob",
  jobSpec: "io.k8s.api.batch.v1.JobSpec",
  replicaSet: "io.k8s.api.apps.v1.ReplicaSet",
  statefulSet: "io.k8s.api.apps.v1.StatefulSet",
  controllerRevision: "io.k8s.api.apps.v1.ControllerRevision",
  podTemplate: `${core}.PodTemplate`,
  priorityClass: "io.k8s.api.scheduling.v1.PriorityClass",
  storageClass: "io.k8s.api.storage.v1.StorageClass",
  certificateSigningRequest: "io.k8s.api.certificates.v1.CertificateSigningRequest",
  daemonSet: "io.k8s.api.apps.v1.DaemonSet",
  networkPolicy: "io.k8s.api.networking.v1.NetworkPolicy",
  limitRange: `${core}.LimitRange`,
  horizontalPodAutoscaler: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
  podDisruptionBudget: "io.k8s.api.policy.v1.PodDisruptionBudget",
  ingress: "io.k8s.api.networking.v1.Ingress",
  deployment: "io.k8s.api.apps.v1.Deployment",
  lease: "io.k8s.api.coordination.v1.Lease",
  role: `${rbac}.Role`,
  clusterRole: `${rbac}.ClusterRole`,
  roleBinding: `${rbac}.RoleBinding`,
  clusterRoleBinding: `${rbac}.ClusterRoleBinding`,
  selfSubjectReview: `${authentication}.SelfSubjectReview`,
  tokenRequest: `${authentication}.TokenRequest`,
  tokenReview: `${authentication}.TokenReview`,
  selfSubjectAccessReview: `${authorization}.SelfSubjectAccessReview`,
  selfSubjectRulesReview: `${authorization}.SelfSubjectRulesReview`,
  subjectAccessReview: `${authorization}.SubjectAccessReview`,
  localSubjectAccessReview: `${authorization}.LocalSubjectAccessReview`,
  customResourceDefinition: `${extensions}.CustomResourceDefinition`,
} as const;

let parsed: JsonObject | undefined;

/** The definitions, parsed at the first call. Shared: do not change them. See `#/components/schemas/<name>`. */
export function rawDefinitions(): JsonObject {
  parsed ??= JSON.parse(k8sOpenApiText) as JsonObject;
  return parsed;
}

const refPrefix = "#/components/schemas/";
const anything: Schema = { "x-kubernetes-preserve-unknown-fields": true };

/** Types for which the data is not precise enough to check values. */
const byHand: ReadonlyMap<string, Schema> = new Map([
  ["io.k8s.apimachinery.pkg.util.intstr.IntOrString", { "x-kubernetes-int-or-string": true }],
  [quantity, { ...anything, anyOf: [{ type: "string" }, { type: "number" }], format: "kubernetes-quantity" }],
  [`${meta}.Time`, { type: "string", format: "kubernetes-time" }],
  [`${meta}.MicroTime`, { type: "string", format: "kubernetes-micro-time" }],
  [`${extensions}.JSON`, anything],
  [`${extensions}.JSONSchemaPropsOrStringArray`, anything],
]);
/** A schema or something simpler: pruned like a schema, of any type. */
const schemaOrSimpler = new Set([`${extensions}.JSONSchemaPropsOrBool`, `${extensions}.JSONSchemaPropsOrArray`]);
const structural = new Map<string, Schema>();

/** A built-in type as a structural schema. No list types: Kubernetes does not require unique keys in these. */
export function definition(name: string): Schema | undefined {
  const known = structural.get(name);
  if (known !== undefined) return known;
  const made = byHand.get(name) ?? (schemaOrSimpler.has(name) ? membersOfSchemas() : readDefinition(name));
  if (made !== undefined) structural.set(name, made);
  return made;
}

function readDefinition(name: string): Schema | undefined {
  const raw = rawDefinitions();
  const found = Object.hasOwn(raw, name) ? raw[name] : undefined;
  return isJsonObject(found) ? toStructural(found) : undefined;
}

const membersOfSchemas = (): Schema => ({ properties: definition(`${extensions}.JSONSchemaProps`)?.properties ?? {} });

/** The name in a `$ref`: `#/components/schemas/io.k8s…Pod` -> `io.k8s…Pod`. */
export const definitionOfRef = (ref: string): string => ref.slice(refPrefix.length);
export const refTo = (name: string): string => `${refPrefix}${name}`;

/** The definition that a schema refers to, if any. `{allOf: [{$ref}]}` is a reference with keywords of its own. */
export function refOf(raw: JsonObject): string | undefined {
  if (typeof raw["$ref"] === "string") return definitionOfRef(raw["$ref"]);
  const [only] = Array.isArray(raw["allOf"]) ? (raw["allOf"] as readonly JsonValue[]) : [];
  return isJsonObject(only) && typeof only["$ref"] === "string" ? definitionOfRef(only["$ref"]) : undefined;
}

/** Objects without members and schemas without a type (RawExtension, FieldsV1) accept anything. */
function toStructural(raw: JsonObject): Schema {
  const ref = refOf(raw);
  if (ref !== undefined) return { $ref: ref };
  const { type, format, properties, additionalProperties, items, required } = raw;
  const isFree = type === "object" && properties === undefined && additionalProperties === undefined;
  if (isFree || type === undefined) return anything;
  return {
    type: type as Exclude<Schema["type"], undefined>,
    ...(typeof format === "string" ? { format } : {}),
    ...(isJsonObject(properties) ? { properties: toProperties(properties, namesOf(required)) } : {}),
    ...(isJsonObject(additionalProperties)
      ? { additionalProperties: withZero(toStructural(additionalProperties)) }
      : {}),
    ...(isJsonObject(items) ? { items: withZero(toStructural(items)) } : {}),
    ...(required === undefined ? {} : { required: namesOf(required) }),
  };
}

/** In lists and maps Go reads null as the zero value: `data: {a: null}` is an empty text. */
function withZero(schema: Schema): Schema {
  const zero = schema.$ref === undefined ? zeros.get(schema.type) : zeroOfRef(schema.$ref);
  return zero === undefined ? schema : { ...schema, default: zero };
}

const zeros: ReadonlyMap<Schema["type"], JsonValue> = new Map<Schema["type"], JsonValue>([
  ["string", ""],
  ["integer", 0],
  ["array", []],
]);

/** Types described by hand are not objects. */
function zeroOfRef(name: string): JsonValue | undefined {
  if (name === quantity) return "0";
  return byHand.has(name) || schemaOrSimpler.has(name) ? undefined : {};
}

const namesOf = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((name: JsonValue) => typeof name === "string") : [];

/** Kubernetes fills in zero values of required fields only. */
const toProperties = (properties: JsonObject, required: readonly string[]): Readonly<Record<string, Schema>> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, raw]) => {
      const member = isJsonObject(raw) ? raw : {};
      const zero = required.includes(name) ? member["default"] : undefined;
      return [name, { ...toStructural(member), ...(zero === undefined ? {} : { default: zero }) }];
    }),
  );
