import { isJsonObject, jsonEquals, type JsonObject, listAt, textAt } from "#lib/base/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { rbacGroup } from "../kinds/rbac.ts";
import { authorize, type Authorizer } from "./authorizer.ts";
import { refuseForeignPaths } from "./host-paths.ts";
import { controllerRight } from "./built-in-roles.ts";
import { type Identity, isMaster } from "./identity.ts";
import { Credential } from "./credential.ts";
import { refuseEscalation } from "./rbac/escalation.ts";

/** Runs inside the critical section, on the object to store and the stored one. Throws 403. */
export type WritePermit = (object: JsonObject, old: JsonObject | undefined) => void;

/** Checks roles, credentials, creating applies, host paths and statuses beyond the verb. Undefined for masters. */
export function writePermit(
  authorizer: Authorizer,
  identity: Identity,
  resource: ServedResource,
  isApply: boolean,
): WritePermit | undefined {
  const { type } = resource;
  const isCredential = type.group === Credential.group && type.plural === Credential.plural;
  if (isMaster(identity)) return undefined;
  return (object, old) => {
    if (isApply && old === undefined) {
      const name = textAt(object, "metadata", "name") ?? "";
      const namespace = textAt(object, "metadata", "namespace") ?? "";
      authorize(authorizer, identity, { verb: "create", group: type.group, resource: type.plural, namespace, name });
    }
    if (isCredential && old === undefined) refuseForeignCredential(authorizer, identity, object);
    if (type.group === rbacGroup) refuseEscalation(authorizer, identity, type, object, old);
    refuseForeignPaths(authorizer, identity, object, old);
    refuseForeignStatus(authorizer, identity, resource, object, old);
  };
}

/** A run's status includes approvals, so `workflows/status` alone is not enough: it takes the right of a controller. */
function refuseForeignStatus(
  authorizer: Authorizer,
  identity: Identity,
  resource: ServedResource,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  if (resource.ownStatus === undefined || old === undefined || object["status"] === old["status"]) return;
  const statusOf = ({ status }: JsonObject): JsonObject => (isJsonObject(status) ? status : {});
  const before = statusOf(old);
  const partOf = (of: JsonObject) => resource.ownStatus?.(statusOf(of), before) ?? null;
  if (jsonEquals(partOf(object), partOf(old))) return;
  const { plural, group } = resource.type;
  const namespace = textAt(object, "metadata", "namespace") ?? "";
  if (authorizer.allows(identity, { ...controllerRight, namespace, name: `${plural}.${group}` })) return;
  const name = textAt(object, "metadata", "name") ?? "";
  const message = `${plural}.${group} "${name}" is forbidden: its status is written by its controllers alone`;
  throw new ApiError("Forbidden", message, { details: { name, group, kind: plural } });
}

/** A credential acts as its user, so creating it takes `impersonate` on the user and each group. */
function refuseForeignCredential(authorizer: Authorizer, identity: Identity, object: JsonObject): void {
  const may = (resource: string, name: string) =>
    authorize(authorizer, identity, { verb: "impersonate", group: "", resource, name });
  may("users", textAt(object, "spec", "user") ?? "");
  for (const group of listAt(object, "spec", "groups")) may("groups", typeof group === "string" ? group : "");
}
