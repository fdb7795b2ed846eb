import { recover } from "#lib/base/index.ts";
import { isNotFound, Pod } from "#kernel/model/index.ts";
import { isOwnerGone } from "../docker/owner-label.ts";
import { instanceLabel, labelValue, stepLabel } from "../step-labels.ts";
import type { Cluster } from "./cluster.ts";
import { keepAnnotation, ownerAnnotation } from "./step-pod.ts";

export const stepSelector = (instance: string): string =>
  `app=${stepLabel.app},${instanceLabel}=${labelValue(instance)}`;

/** Deletes Pods of killed workers of this machine except kept ones and returns their number. Pods of workers in Pods
 * are deleted through their owner. */
export async function removeLeftovers(
  { client, namespace }: Pick<Cluster, "client" | "namespace">,
  instance: string,
): Promise<number> {
  const { items } = await client.list(Pod, { namespace, labelSelector: stepSelector(instance) });
  const left = items.filter(({ metadata: { annotations = {} } }) => {
    const owner = annotations[ownerAnnotation];
    return annotations[keepAnnotation] === undefined && owner !== undefined && isOwnerGone(owner);
  });
  for (const { metadata } of left) {
    const { name, uid } = metadata;
    await client
      .delete({ type: Pod, namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } })
      .catch(recover(isNotFound, undefined));
  }
  return left.length;
}
