import { defined, err, ok, type Result } from "#lib/base/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { Definitions } from "./definitions/definition.ts";
import { Application, Policy, Workflow } from "./kinds.ts";
import { parseApp } from "./parse.ts";
import type { ClusterVersion } from "./render/context.ts";
import { allObjects, renderAll } from "./render/render-all.ts";
import type { RenderedObject } from "./render/rendered.ts";
import { decideRevision } from "./revision/decide.ts";
import { snapshotOf } from "./revision/snapshot.ts";

export interface OfflineRequest {
  readonly application: KubeObject;
  /** Of the files: a Workflow or Policies that the application refers to. */
  readonly objects: readonly KubeObject[];
  readonly definitions: Definitions;
  readonly systemNamespace: string;
  /** Of the application so far; none means that this is its first one. */
  readonly revisions: readonly Stored[];
  readonly cue: Cue;
  readonly signal: AbortSignal;
}

export interface Preview {
  readonly revision: string;
  readonly objects: readonly RenderedObject[];
}

/** Of Slipway's own control plane. */
const clusterVersion: ClusterVersion = {
  major: "1",
  minor: 33,
  gitVersion: "v1.33.0",
  platform: `${process.platform}/${process.arch}`,
};

/** Of Kubernetes' own kinds; custom ones count as namespaced. */
const clusterKinds: ReadonlySet<string> = new Set([
  "APIService",
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "IngressClass",
  "Namespace",
  "PersistentVolume",
  "PriorityClass",
  "StorageClass",
  "ValidatingAdmissionPolicy",
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
]);

/** All objects of the application's next revision, as the controller renders them. The errors are for people. */
export async function renderOffline(request: OfflineRequest): Promise<Result<Preview, readonly string[]>> {
  const { objects, definitions, revisions, cue, signal } = request;
  const application = asStored(request.application);
  const { namespace = "default", name } = application.metadata;
  const of = <T>(kind: string): readonly T[] =>
    // The reader has checked them.
    objects.filter(
      (one) => one.kind === kind && (one.metadata.namespace ?? "default") === namespace,
    ) as unknown as readonly T[];
  const workflow = of<Workflow>(Workflow.kind).find(({ metadata }) => metadata.name === application.spec.workflow?.ref);
  const references = { ...defined({ workflow }), policies: of<Policy>(Policy.kind) };
  const draft = parseApp(application, undefined, references);
  const referred = { policies: {}, referredObjects: [] };
  const choice = decideRevision({
    name,
    annotations: application.metadata.annotations ?? {},
    snapshot: await snapshotOf(application, draft, definitions, referred),
    revisions,
    lastNumber: 0,
  });
  const app = parseApp(application, { name: choice.name, number: choice.number }, references);
  const rendered = await renderAll(
    {
      app,
      cue,
      definitions,
      systemNamespace: request.systemNamespace,
      revisionHash: choice.hash,
      isNamespaced: (_apiVersion, kind) => Promise.resolve(!clusterKinds.has(kind)),
      referredObjects: ({ name: component }) =>
        Promise.resolve(err(`component "${component}" refers to objects of the control plane`)),
      answer: () => Promise.resolve(err("only a control plane sends requests")),
      chartObjects: () => Promise.resolve(err("charts are rendered by a control plane only")),
      signal,
    },
    { cluster: "local", namespace, clusterVersion },
  );
  return rendered.ok
    ? ok({ revision: choice.name, objects: allObjects(rendered.value) })
    : err(rendered.error.problems);
}

/** What a server adds is not part of what is rendered. */
const asStored = (object: KubeObject): Stored<Application> =>
  ({
    ...object,
    metadata: { namespace: "default", uid: "", resourceVersion: "", creationTimestamp: "", ...object.metadata },
  }) as unknown as Stored<Application>;
