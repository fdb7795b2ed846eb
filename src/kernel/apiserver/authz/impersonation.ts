import type { IncomingMessage } from "node:http";
import { badRequest } from "#kernel/model/index.ts";
import { accountGroups } from "./account-tokens.ts";
import { type Authorizer, authorize } from "./authorizer.ts";
import { type Access, authenticatedGroup, type Identity } from "./identity.ts";

const extraPrefix = "impersonate-extra-";
const accountPrefix = "system:serviceaccount:";

/** The identity in the `Impersonate-` headers, each part of which needs permission (403), or the caller's own. */
export function impersonated(
  authorizer: Authorizer,
  caller: Identity,
  request: Pick<IncomingMessage, "headers" | "headersDistinct">,
): Identity {
  if (!isAsked(request.headers)) return caller;
  // Elsewhere Node joins repeated headers with commas, which names may contain.
  const headers = request.headersDistinct;
  const [user = ""] = headers["impersonate-user"] ?? [];
  const [uid = ""] = headers["impersonate-uid"] ?? [];
  const groups = headers["impersonate-group"] ?? [];
  const extra = extras(headers);
  if (user === "") throw badRequest("requested impersonation without impersonating a user");
  const account = accountOf(user);
  const may = (access: Omit<Access, "verb">) => authorize(authorizer, caller, { verb: "impersonate", ...access });
  if (account === undefined) may({ group: "", resource: "users", name: user });
  else may({ group: "", resource: "serviceaccounts", namespace: account.namespace, name: account.name });
  const authentication = "authentication.k8s.io";
  for (const name of groups) may({ group: "", resource: "groups", name });
  if (uid !== "") may({ group: authentication, resource: "uids", name: uid });
  for (const [key, values] of extra)
    for (const name of values) may({ group: authentication, resource: `userextras/${key}`, name });
  return {
    user,
    groups: groupsOf(user, groups, account?.namespace),
    ...(uid === "" ? {} : { uid }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** Accounts get their groups by default; everybody but the anonymous user is authenticated. */
function groupsOf(user: string, groups: readonly string[], namespace: string | undefined): readonly string[] {
  const base = groups.length === 0 && namespace !== undefined ? accountGroups(namespace) : groups;
  if (user === "system:anonymous" || base.includes(authenticatedGroup)) return base;
  return [...base, authenticatedGroup];
}

function accountOf(user: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace = "", name = "", ...more] = user.slice(accountPrefix.length).split(":");
  return namespace === "" || name === "" || more.length > 0 ? undefined : { namespace, name };
}

function isAsked(headers: IncomingMessage["headers"]): boolean {
  for (const name in headers) if (name.startsWith("impersonate-")) return true;
  return false;
}

/** Keys are percent-decoded, as in Kubernetes. */
function extras(headers: IncomingMessage["headersDistinct"]): readonly (readonly [string, readonly string[]])[] {
  return Object.keys(headers)
    .filter((name) => name.startsWith(extraPrefix))
    .map((name) => [decodeKey(name.slice(extraPrefix.length)), headers[name] ?? []] as const);
}

function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
