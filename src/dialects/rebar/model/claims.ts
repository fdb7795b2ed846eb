import type { Claim } from "../objects.ts";

const covers = (list: string, wanted: string): boolean =>
  list === "*" || list === wanted || list.split(",").some((item) => item.trim() === "*" || item.trim() === wanted);

/** `update:/Params/x` is satisfied by `update` and `update:/Params` as well, `action:boot` by `action`. */
function coversAction(list: string, wanted: string): boolean {
  if (covers(list, wanted)) return true;
  const colon = wanted.indexOf(":");
  if (colon === -1) return false;
  const verb = wanted.slice(0, colon);
  if (covers(list, verb)) return true;
  const pointer = wanted.slice(colon + 1);
  return list.split(",").some((item) => {
    const part = item.trim();
    return part.startsWith(`${verb}:`) && pointer.startsWith(`${part.slice(verb.length + 1)}/`);
  });
}

/**
 * Whether claims allow an action. Each member of a claim is `*` or a comma list. `specific` is an object's key; the
 * empty string stands for no particular object and requires `*`.
 */
export const allows = (claims: readonly Claim[], scope: string, action: string, specific: string): boolean =>
  claims.some(
    (claim) => covers(claim.scope, scope) && coversAction(claim.action, action) && covers(claim.specific, specific),
  );

/** The text of a refusal that names the missing claim. */
export const requirement = (scope: string, action: string, specific: string): string =>
  `Requires: ${scope} ${action} ${specific}`;

const claim = (scope: string, action: string, specific: string): Claim => ({ scope, action, specific });

const ofMachine = "get,actions,update,patch,action,getSecure,updateSecure";
const readable = "params,stages,tasks,bootenvs,isos,files,info";

/** The claims of a machine token. For `jobs`, pass the UUID of the job's machine as `specific`. */
export const machineClaims = (uuid: string): readonly Claim[] => [
  claim("machines", ofMachine, uuid),
  claim("jobs", "create,get,update,actions,log", uuid),
  claim(readable, "get", "*"),
  claim("events", "post", "*"),
];

/**
 * Every user may look at their own account, change its password and start sessions. A token with fewer roles cannot
 * change the password, which would give it all of them.
 */
export const ownClaims = (user: string, hasAllRoles: boolean): readonly Claim[] => [
  claim("users", hasAllRoles ? "get,token,password" : "get,token", user),
  claim("info", "get", "*"),
];

export const profileClaims = (profile: string): readonly Claim[] => [
  claim("profiles", "get,getSecure,update,updateSecure", profile),
  claim("params", "get", "*"),
];

export const createOnlyClaims: readonly Claim[] = [claim("machines", "create", "*")];
