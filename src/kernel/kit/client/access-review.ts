import { isTrueAt } from "#lib/base/index.ts";
import { asJson, isForbidden, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import type { ApiClient } from "./api-client.ts";

export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Answered by every API server for everybody. */
const accessReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

/** Whether the client's user has the right; of several users each one. */
export async function isAllowed(client: Pick<ApiClient, "create">, right: Right, signal: AbortSignal) {
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
