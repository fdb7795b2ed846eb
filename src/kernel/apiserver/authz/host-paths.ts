import { isJsonObject, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { authorize, type Authorizer } from "./authorizer.ts";
import { hostPathRight } from "./built-in-roles.ts";
import type { Identity } from "./identity.ts";

// A path of the machine in a Pod is the machine to whoever may create Pods: `/` is all of it. So that is a right of its
// own, `use` on `hostpaths.slipway.dev` by the path as its name. Masters have it, and nobody else until a role says so.
//
//     rules: [{ apiGroups: ["slipway.dev"], resources: ["hostpaths"], verbs: ["use"], resourceNames: ["/srv/models"] }]

/** Checks every path that the write adds, also in templates of Pods. Throws 403 for the first one not allowed. */
export function refuseForeignPaths(
  authorizer: Authorizer,
  identity: Identity,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const before = old === undefined ? new Set<string>() : hostPathsIn(old);
  const namespace = textAt(object, "metadata", "namespace") ?? "";
  for (const path of hostPathsIn(object)) {
    if (!before.has(path)) authorize(authorizer, identity, { ...hostPathRight, namespace, name: path });
  }
}

/** Every `volumes[].hostPath.path` of the value, each once. */
export function hostPathsIn(value: JsonValue): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (one: JsonValue): void => {
    if (Array.isArray(one)) for (const item of one as readonly JsonValue[]) visit(item);
    if (!isJsonObject(one)) return;
    const { volumes } = one;
    for (const volume of Array.isArray(volumes) ? (volumes as readonly JsonValue[]) : []) {
      const path = textAt(volume, "hostPath", "path");
      if (path !== undefined) found.add(path);
    }
    for (const member of Object.values(one)) if (typeof member === "object" && member !== null) visit(member);
  };
  visit(value);
  return found;
}
