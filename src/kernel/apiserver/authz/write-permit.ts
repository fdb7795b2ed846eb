import type { JsonObject } from "#lib/base/index.ts";
import { textAt } from "#kernel/specs/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { rbacGroup } from "../kinds/rbac.ts";
import { authorize, type Authorizer } from "./authorizer.ts";
import { type Identity, isMaster } from "./identity.ts";
import { refuseEscalation } from "./rbac/escalation.ts";

/**
 * Asked inside the critical section, when it is known what is about to be stored and what is there (`old` is undefined for a new
 * object). Throws 403.
 */
export type WritePermit = (object: JsonObject, old: JsonObject | undefined) => void;

/**
 * What has to be asked about a write beyond the verb of its request: roles and bindings may not give more than their writer has,
 * and an apply that creates needs the right to create. Undefined for masters, and when there is nothing to ask, so that such
 * writes cost nothing more.
 */
export function writePermit(
  authorizer: Authorizer,
  identity: Identity,
  { type }: ServedResource,
  isApply: boolean,
): WritePermit | undefined {
  if (isMaster(identity) || (type.group !== rbacGroup && !isApply)) return undefined;
  return (object, old) => {
    if (isApply && old === undefined) {
      const name = textAt(object, "metadata", "name") ?? "";
      const namespace = textAt(object, "metadata", "namespace") ?? "";
      authorize(authorizer, identity, { verb: "create", group: type.group, resource: type.plural, namespace, name });
    }
    if (type.group === rbacGroup) refuseEscalation(authorizer, identity, type, object, old);
  };
}
