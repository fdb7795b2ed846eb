import { err, isTrueAt, type JsonObject, objectAt, ok, type Result } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import {
  asJson,
  distinctWriters,
  isForbidden,
  subdomainRule,
  type KubeObject,
  type ResourceType,
  type Stored,
  type Writer,
  writersOf,
} from "#kernel/model/index.ts";
import { annotation } from "../labels.ts";

/** As a Manager is. */
export interface Actors {
  /** With the rights of everybody who wrote part of the object. */
  clientFor(object: KubeObject): ApiClient;
  clientAs(user: Writer): ApiClient | undefined;
}

/** Answered by every API server for everybody. */
const accessReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Whether the client's user has the right; of several users each one. */
export async function isAllowed(client: ApiClient, right: Right, signal: AbortSignal): Promise<boolean> {
  const review: KubeObject = {
    apiVersion: "authorization.k8s.io/v1",
    kind: accessReviews.kind,
    metadata: {},
    spec: { resourceAttributes: right },
  };
  try {
    return isTrueAt(asJson(await client.create(accessReviews, review, { signal })), "status", "allowed");
  } catch (thrown) {
    // A user without any right may not even ask.
    if (isForbidden(thrown)) return false;
    throw thrown;
  }
}

const asRecord = ({ user, groups }: Writer): JsonObject => ({ user, groups });

/**
 * The client for what an application does. `others` wrote what it refers to (`snapshotWriters`). It has the rights that
 * all of these writers have or, with annotation `app.oam.dev/service-account-name`, those of the ServiceAccount, which
 * each writer must be allowed to impersonate.
 */
export async function actingClient(
  actors: Actors,
  application: Stored,
  others: readonly Writer[],
  signal: AbortSignal,
): Promise<Result<ApiClient, string>> {
  const actsFor = distinctWriters([...writersOf(application), ...others]);
  const status = { ...objectAt(asJson(application), "status"), actsFor: actsFor.map(asRecord) };
  const writers = actors.clientFor({ ...application, status });
  const { annotations = {}, namespace = "" } = application.metadata;
  const name = annotations[annotation.serviceAccount];
  if (name === undefined || name === "") return ok(writers);
  if (subdomainRule(name) !== undefined)
    return err(`annotation ${annotation.serviceAccount}: invalid name ${JSON.stringify(name)}`);
  const right = { verb: "impersonate", group: "", resource: "serviceaccounts", namespace, name };
  if (!(await isAllowed(writers, right, signal)))
    return err(
      `the writers of the application may not act as ServiceAccount ${namespace}/${name}: they need the right to impersonate it`,
    );
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const client = actors.clientAs({ user: `system:serviceaccount:${namespace}:${name}`, groups });
  return client === undefined ? err("this control plane cannot act as a ServiceAccount") : ok(client);
}
