import type { Claim } from "../objects.ts";

const claim = (scope: string, action: string, specific: string): Claim => ({ scope, action, specific });

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
