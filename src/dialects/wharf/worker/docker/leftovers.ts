import type { ContainerEngine } from "#kernel/runtimes/index.ts";
import { instanceLabel, labelValue, stepLabel } from "../step-labels.ts";
import { isOwnerGone, keepLabel, ownerLabel } from "./owner-label.ts";

/** Removes containers of killed workers except kept ones and returns their number. */
export async function removeLeftovers(engine: ContainerEngine, instance: string): Promise<number> {
  const found = await engine.containersWith(
    `app=${stepLabel.app}`,
    `${instanceLabel}=${labelValue(instance)}`,
    ownerLabel,
  );
  const left = found.filter(({ labels }) => labels[keepLabel] === undefined && isOwnerGone(labels[ownerLabel] ?? ""));
  for (const { id } of left) await engine.remove(id);
  return left.length;
}
