import type { OwnerReference } from "#kernel/model/index.ts";

/** Who owns the Pods of steps, and what is wrong with what was said about that. */
export interface PodOwner {
  readonly references: readonly OwnerReference[];
  readonly warning?: string;
}

/**
 * The Pod that this worker runs in, as its variables say it: with it the Pods of its steps go, too. `WHARF_KUBERNETES_OWNER_ENABLE` asks for that;
 * without name or uid there is no reference, and a warning.
 */
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
