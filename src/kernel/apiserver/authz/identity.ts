import { ApiError } from "#kernel/model/index.ts";

/** Who asks. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}

/** The one role of this release. */
export const admin: Identity = { user: "slipway:admin", groups: ["system:masters", "system:authenticated"] };

/** For the parts of this process that use the API directly. */
export const internal: Identity = { user: "slipway:internal", groups: ["system:masters", "system:authenticated"] };

export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
}

/** 403 unless the caller may do everything; finer roles do not exist yet. */
export function authorize(identity: Identity, access: Access): void {
  if (identity.groups.includes("system:masters")) return;
  const { verb, group, resource, namespace } = access;
  const place =
    namespace === undefined || namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const subject = group === "" ? resource : `${resource}.${group}`;
  throw new ApiError(
    "Forbidden",
    `${subject} is forbidden: User "${identity.user}" cannot ${verb} resource "${resource}" in API group "${group}" ${place}`,
    { details: { ...(group === "" ? {} : { group }), kind: resource } },
  );
}
