import { protoFieldsText } from "./proto-fields.ts";

// The table of `proto-fields.ts` as lookups. Data and not code, because it is data: about 300 messages and 1,000 fields whose numbers
// have never changed and never will, as Kubernetes promises its clients.

/** How a field's values are joined: one, one whose presence has a meaning, a list, a map, or members of the parent itself. */
export type Cardinality = "plain" | "pointer" | "list" | "map" | "embedded";

/** One field as a decoder needs it. */
export interface FieldType {
  /** Its key in JSON. */
  readonly name: string;
  /** A scalar of protobuf (`string`, `int32`, …) or the name of a message. */
  readonly type: string;
  readonly cardinality: Cardinality;
}

/** A message's fields by number. */
export type MessageType = ReadonlyMap<number, FieldType>;

/** Number, name, type, flags: as `proto-fields.ts` has them. */
type Row = readonly [number, string, string, string];

const cardinalities: Readonly<Record<string, Cardinality>> = {
  "": "plain",
  "*": "pointer",
  "[]": "list",
  "{}": "map",
  "~": "embedded",
};

/** Fields whose JSON key is not the field's own name. */
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

// The whole table is parsed once (1 ms), messages are kept as maps once somebody has sent one: few kinds ever arrive.
let rows: Readonly<Record<string, readonly Row[]>> | undefined;
const read = new Map<string, MessageType>();

/** The message of this name (`core.v1.Pod`), or undefined. The table is parsed at the first call, each message when asked for. */
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

/** Schemas of CustomResourceDefinitions have keys that are no identifiers; their fields are named after the Go struct. */
function fieldOf(message: string, [, name, type, flags]: Row): FieldType {
  const isRenamed = message === "apiextensions.v1.JSONSchemaProps" || name === "uID";
  const key = isRenamed ? (renamed[name] ?? name) : name;
  // `~` on a scalar says no more than that its key is another one.
  const cardinality = flags === "~" && !type.includes(".") ? "plain" : (cardinalities[flags] ?? "plain");
  return { name: key, type, cardinality };
}

/** API groups whose kinds have messages, with the package these are in. */
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

/** `apps/v1`, `Deployment` -> `apps.v1.Deployment`. Options of a deletion are in no group of their own: any may be named. */
export function messageNameOf(apiVersion: string, kind: string): string | undefined {
  if (kind === "DeleteOptions") return "apis.meta.v1.DeleteOptions";
  const slash = apiVersion.indexOf("/");
  const found = packages.get(slash < 0 ? "" : apiVersion.slice(0, slash));
  return found === undefined ? undefined : `${found}.${apiVersion.slice(slash + 1)}.${kind}`;
}
