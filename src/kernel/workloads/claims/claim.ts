import { join } from "node:path";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { PodSpec } from "../pod-types.ts";

export interface ClaimObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
    readonly volumeName?: string;
  };
  readonly status?: ClaimStatus;
}

export interface ClaimStatus {
  readonly phase?: string;
  readonly accessModes?: readonly string[];
  readonly capacity?: Readonly<Record<string, string>>;
}

export const claimDirectory = (volumes: string, namespace: string, name: string): string =>
  join(volumes, namespace, name);

export const claimNames = ({ volumes }: Partial<PodSpec>): readonly string[] => [
  ...new Set(
    (volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => (claim === undefined ? [] : [claim.claimName])),
  ),
];

/** Why a Pod cannot use this claim now, in the scheduler's words; undefined when it can. */
export function claimProblem(name: string, claim: ClaimObject | undefined): string | undefined {
  if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
  if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`;
  return claim.status?.phase === "Bound" ? undefined : "pod has unbound immediate PersistentVolumeClaims";
}
