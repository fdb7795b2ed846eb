import type { Claim } from "../objects.ts";

const claim = (scope: string, action: string, specific: string): Claim => ({ scope, action, specific });

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
