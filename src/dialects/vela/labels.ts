import { defined, type JsonObject } from "#lib/base/index.ts";
import type { AppIdentity } from "./app.ts";

// Labels and annotations that clients of KubeVela select by.

export const label = {
  app: "app.oam.dev/name",
  appNamespace: "app.oam.dev/namespace",
  appRevision: "app.oam.dev/appRevision",
  appRevisionHash: "app.oam.dev/app-revision-hash",
  component: "app.oam.dev/component",
  resourceType: "app.oam.dev/resourceType",
  revision: "app.oam.dev/revision",
  replicaKey: "app.oam.dev/replicaKey",
  workloadType: "workload.oam.dev/type",
  traitType: "trait.oam.dev/type",
  traitResource: "trait.oam.dev/resource",
  policy: "policy.oam.dev/name",
} as const;

export const annotation = {
  publishVersion: "app.oam.dev/publishVersion",
  autoUpdate: "app.oam.dev/autoUpdate",
  restartWorkflow: "app.oam.dev/restart-workflow",
  serviceAccount: "app.oam.dev/service-account-name",
  sharedBy: "app.oam.dev/shared-by",
} as const;

/** While an application has it, deletion keeps the applied objects. */
export const orphanFinalizer = "app.oam.dev/orphan-resource";
/** Holds an application until its objects are deleted. */
export const trackerFinalizer = "app.oam.dev/resource-tracker-finalizer";

/** Type of a component's further objects, where traits have their own. */
export const auxiliaryWorkload = "AuxiliaryWorkload";

/** Finds the trackers and revisions of an application. */
export const selectorOf = ({ name, namespace }: Pick<AppIdentity, "name" | "namespace">): string =>
  `${label.app}=${name},${label.appNamespace}=${namespace}`;

/** Finds the objects of an application, or of one component of it, in its namespace. */
export const objectsOf = (app: string, component?: string): string =>
  labelsText({ [label.app]: app, ...defined({ [label.component]: component }) });

/** The application that an object belongs to by its labels. */
export function ownerOf(object: {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}): { readonly name: string; readonly namespace: string } | undefined {
  const { [label.app]: name, [label.appNamespace]: namespace } = object.metadata.labels ?? {};
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

const neverCopied = new Set([
  "app.oam.dev/inplace-upgrade",
  annotation.restartWorkflow,
  "kubectl.kubernetes.io/last-applied-configuration",
  "slipway.dev/acts-for",
]);

/** The application's annotations for its objects, without those that are about the application alone. */
export function copiedAnnotations({ annotations }: AppIdentity): Readonly<Record<string, string>> {
  const left = keysIn(annotations["filter.oam.dev/annotation-keys"]);
  return kept(annotations, (key) => !key.startsWith("filter.oam.dev/") && !neverCopied.has(key) && !left.has(key));
}

export function copiedLabels({ labels, annotations }: AppIdentity): Readonly<Record<string, string>> {
  const left = keysIn(annotations["filter.oam.dev/label-keys"]);
  return kept(labels, (key) => !left.has(key));
}

const keysIn = (list = ""): ReadonlySet<string> => new Set(list.split(",").map((key) => key.trim()));

const kept = (map: Readonly<Record<string, string>>, isKept: (key: string) => boolean) =>
  Object.fromEntries(Object.entries(map).filter(([key]) => isKept(key)));

/** `Deployment a/web`, as messages name objects. */
export const nameOf = (object: {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name?: string };
}): string => {
  const { namespace, name = "" } = object.metadata;
  return `${object.kind} ${namespace === undefined || namespace === "" ? "" : `${namespace}/`}${name}`;
};

/** Texts of a map of labels; other values are left out. */
export const textsOf = (map: JsonObject | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(map ?? {}).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])),
  );

/** `region=east,tier=a`, as selectors and tables have labels. */
export const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

export const isSecret = (object: { readonly apiVersion?: unknown; readonly kind?: unknown }): boolean =>
  object.kind === "Secret" && object.apiVersion === "v1";
