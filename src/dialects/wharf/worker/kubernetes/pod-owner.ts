import type { OwnerReference } from "#kernel/model/index.ts";

export interface PodOwner {
  readonly references: readonly OwnerReference[];
  readonly warning?: string;
}

/** The Pod this worker runs in, which owns the Pods of its steps if `WHARF_KUBERNETES_OWNER_ENABLE` is set. */
export function podOwner(variables: Readonly<Record<string, string | undefined>>): PodOwner {
  const {
    WHARF_KUBERNETES_OWNER_ENABLE: isEnabled,
    WHARF_KUBERNETES_OWNER_NAME: name,
    WHARF_KUBERNETES_OWNER_UID: uid,
  } = variables;
  if (!/^(?:true|1)$/i.test(isEnabled ?? "")) return { references: [] };
  if (!name || !uid) {
    const missing = ["NAME", "UID"].filter((part) => !variables[`WHARF_KUBERNETES_OWNER_${part}`]);
    const names = missing.map((part) => `WHARF_KUBERNETES_OWNER_${part}`).join(" and ");
    return {
      references: [],
      warning: `Pods of steps have no owner: WHARF_KUBERNETES_OWNER_ENABLE is set, and ${names} is not`,
    };
  }
  return { references: [{ apiVersion: "v1", kind: "Pod", name, uid, blockOwnerDeletion: true, controller: true }] };
}
