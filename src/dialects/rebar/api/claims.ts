import type { Claim } from "../objects.ts";

/** Each set undefined: `*`. */
interface CompiledClaim {
  readonly scopes: ReadonlySet<string> | undefined;
  readonly actions: ReadonlySet<string> | undefined;
  readonly specifics: ReadonlySet<string> | undefined;
}

export type Claims = readonly CompiledClaim[];

export const compileClaims = (claims: readonly Claim[]): Claims =>
  claims.map(({ scope, action, specific }) => ({
    scopes: wordsOf(scope),
    actions: wordsOf(action),
    specifics: wordsOf(specific),
  }));

const wordsOf = (text: string): ReadonlySet<string> | undefined =>
  text === "*" ? undefined : new Set(text.split(",").map((word) => word.trim()));

export function allows(claims: Claims, scope: string, action: string, specific: string): boolean {
  for (const claim of claims)
    if (
      (claim.scopes === undefined || claim.scopes.has(scope)) &&
      (claim.specifics === undefined || claim.specifics.has(specific)) &&
      (claim.actions === undefined || covers(claim.actions, action))
    )
      return true;
  return false;
}

/** `update` and `update:/a` cover `update:/a/b`; `action` covers `action:cmd`. */
function covers(actions: ReadonlySet<string>, action: string): boolean {
  if (actions.has(action)) return true;
  const colon = action.indexOf(":");
  if (colon < 0) return false;
  if (actions.has(action.slice(0, colon))) return true;
  if (!action.startsWith("update:")) return false;
  for (let end = action.lastIndexOf("/"); end > colon; end = action.lastIndexOf("/", end - 1))
    if (actions.has(action.slice(0, end))) return true;
  return false;
}

const claim = (scope: string, action: string, specific: string): Claim => ({ scope, action, specific });

/** What an agent may do with its machine and the machine's jobs. */
export const machineClaims = (machine: string): readonly Claim[] => [
  claim("machines", "get,actions,update,patch,action,getSecure,updateSecure", machine),
  claim("jobs", "create,get,update,actions,log", machine),
  claim("params,stages,tasks,bootenvs,isos,files,info", "get", "*"),
  claim("events", "post", "*"),
];

/** Every user may look at their own account, change its password and start sessions. */
export const ownClaims = (user: string): readonly Claim[] => [
  claim("users", "get,token,password", user),
  claim("info", "get", "*"),
];

export const profileClaims = (profile: string): readonly Claim[] => [
  claim("profiles", "get,getSecure,update,updateSecure", profile),
  claim("params", "get", "*"),
];

export const createOnlyClaims: readonly Claim[] = [claim("machines", "create", "*")];
