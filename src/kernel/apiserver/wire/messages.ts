import { protoFieldsText } from "./proto-fields.ts";

// Lookups in the table of `proto-fields.ts`: about 300 messages and 1,000 fields, whose numbers never change.

export type Cardinality = "plain" | "pointer" | "list" | "map" | "embedded";

export interface FieldType {
  readonly name: string;
  /** A protobuf scalar (`string`, `int32`, …) or a message. */
  readonly type: string;
  readonly cardinality: Cardinality;
}

export type MessageType = ReadonlyMap<number, FieldType>;

/** Number, name, type, flags. */
type Row = readonly [number, string, string, string];

const cardinalities: Readonly<Record<string, Cardinality>> = {
  "": "plain",
  "*": "pointer",
  "[]": "list",
  "{}": "map",
  "~": "embedded",
};

const renamed: Readonly<Record<string, string>> = {
  uID: "uid",
  ref: "$ref",
  schema: "$schema",
  xKubernetesPreserveUnknownFields: "x-kubernetes-preserve-unknown-fields",
  xKubernetesEmbeddedResource: "x-kubernetes-embedded-resource",
  xKubernetesIntOrString: "x-kubernetes-int-or-string",
  xKubernetesListMapKeys: "x-kubernetes-list-map-keys",
  xKubernetesListType: "x-kubernetes-list-type",
  xKubernetesMapType: "x-kubernetes-map-type",
  xKubernetesValidations: "x-kubernetes-validations",
};

// Parsed once (1 ms); few messages are ever used.
let rows: Readonly<Record<string, readonly Row[]>> | undefined;
const read = new Map<string, MessageType>();

/** The message of this name (`core.v1.Pod`), if any. */
export function messageType(name: string): MessageType | undefined {
  const known = read.get(name);
  if (known !== undefined) return known;
  rows ??= JSON.parse(protoFieldsText) as Readonly<Record<string, readonly Row[]>>;
  const found = Object.hasOwn(rows, name) ? rows[name] : undefined;
  if (found === undefined) return undefined;
  const type = new Map(found.map((row) => [row[0], fieldOf(name, row)]));
  read.set(name, type);
  return type;
}

/** Keys of CRD schemas that are no identifiers differ from their Go field. */
function fieldOf(message: string, [, name, type, flags]: Row): FieldType {
  const isRenamed = message === "apiextensions.v1.JSONSchemaProps" || name === "uID";
  const key = isRenamed ? (renamed[name] ?? name) : name;
  // `~` on a scalar only means that its key differs.
  const cardinality = flags === "~" && !type.includes(".") ? "plain" : (cardinalities[flags] ?? "plain");
  return { name: key, type, cardinality };
}

/** API groups and their packages. */
const packages: ReadonlyMap<string, string> = new Map([
  ["", "core"],
  ["apiextensions.k8s.io", "apiextensions"],
  ["apps", "apps"],
  ["authentication.k8s.io", "authentication"],
  ["authorization.k8s.io", "authorization"],
  ["autoscaling", "autoscaling"],
  ["batch", "batch"],
  ["certificates.k8s.io", "certificates"],
  ["coordination.k8s.io", "coordination"],
  ["events.k8s.io", "events"],
  ["networking.k8s.io", "networking"],
  ["policy", "policy"],
  ["rbac.authorization.k8s.io", "rbac"],
  ["scheduling.k8s.io", "scheduling"],
  ["storage.k8s.io", "storage"],
]);

/** `apps/v1`, `Deployment` -> `apps.v1.Deployment`. Deletion options may be in any group. */
export function messageNameOf(apiVersion: string, kind: string): string | undefined {
  if (kind === "DeleteOptions") return "apis.meta.v1.DeleteOptions";
  const slash = apiVersion.indexOf("/");
  const found = packages.get(slash < 0 ? "" : apiVersion.slice(0, slash));
  return found === undefined ? undefined : `${found}.${apiVersion.slice(slash + 1)}.${kind}`;
}
