import type { JsonObject } from "#lib/base/index.ts";
import { invalid } from "#kernel/model/index.ts";
import { withMembers } from "#kernel/specs/index.ts";
import type { Identity } from "../authz/identity.ts";
import { answerReview } from "../authz/reviews/answer-review.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { admit, namedKind, inNamespace, refuseUnreadable } from "./admission.ts";
import type { ApiContext } from "./context.ts";
import type { WriteRequest } from "./options.ts";

export interface Reviewed {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

/** POST of a kind that is a question: validated like a new object and answered instead of stored. */
export function reviewObject(
  context: ApiContext,
  identity: Identity,
  resource: ServedResource,
  namespace: string,
  body: unknown,
  request: WriteRequest,
): Reviewed {
  const { type } = resource;
  // Clients send an empty status, whose required members are null.
  const sent = withMembers(namedKind(body, resource), { status: undefined });
  const admitted = admit(inNamespace(sent, resource, namespace), resource, request);
  const object = resource.prepareForCreate(admitted.object);
  const { causes } = resource.validateCreate(object);
  if (causes.length > 0) {
    refuseUnreadable(admitted.object, resource);
    throw invalid(type, "", causes);
  }
  return { object: answerReview(context, identity, { type, namespace, object }), warnings: admitted.warnings };
}
