import { defined, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import type { App, AppIdentity, Component } from "../app.ts";
import { shortHash } from "../revision/hash.ts";

/** `minor` is a number: providers append `+` to it. */
export interface ClusterVersion {
  readonly major: string;
  readonly minor: number;
  readonly gitVersion: string;
  readonly platform: string;
}

/** Used when a cluster does not report its version. */
export const unknownVersion: ClusterVersion = { major: "1", minor: 19, gitVersion: "v1.19.0", platform: "" };

export function readClusterVersion(text: string): ClusterVersion {
  const {
    major = "1",
    minor = "19",
    gitVersion = "v1.19.0",
    platform = "",
  } = JSON.parse(text) as Record<string, string>;
  const number = Number.parseInt(minor, 10);
  return { major, minor: Number.isNaN(number) ? unknownVersion.minor : number, gitVersion, platform };
}

export interface ContextOptions {
  readonly cluster: string;
  readonly namespace: string;
  readonly clusterVersion: ClusterVersion;
}

/** What every template of an application and every step of its workflow sees. */
export function identityContext(identity: AppIdentity): JsonObject {
  const { name, namespace, labels, annotations, revision, revisionNumber, workflowName, custom } = identity;
  return {
    ...custom,
    name,
    namespace,
    appName: name,
    appRevision: revision,
    appRevisionNum: revisionNumber,
    appLabels: labels,
    appAnnotations: annotations,
    publishVersion: identity.publishVersion ?? "",
    workflowName,
    ...defined({ custom }),
  };
}

/** What every template of an application sees. */
export const appContext = (
  { identity, components }: App,
  { cluster, namespace, clusterVersion }: ContextOptions,
): JsonObject => ({
  ...identityContext(identity),
  namespace,
  components: components.map(plainComponent),
  cluster,
  clusterVersion: { ...clusterVersion },
});

/** The `context` of a component's template and its traits. */
export const componentContext = (app: App, component: Component, options: ContextOptions): JsonObject => ({
  ...appContext(app, options),
  name: component.name,
  revision: componentRevision(component),
  ...defined({ replicaKey: component.replicaKey }),
});

/** As in the document. */
export const plainComponent = ({ name, type, properties, traits, dependsOn }: Component): JsonObject => ({
  name,
  type,
  properties,
  ...(traits.length === 0 ? {} : { traits: traits.map((trait): JsonValue => ({ ...trait })) }),
  ...(dependsOn.length === 0 ? {} : { dependsOn }),
});

/** Changes with the component alone. */
export const componentRevision = (component: Component): string =>
  `${component.name}-${shortHash(canonicalJson(plainComponent(component)))}`;
