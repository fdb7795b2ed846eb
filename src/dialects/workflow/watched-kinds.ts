import { type Informer, KindMirrors, type Manager } from "#kernel/kit/index.ts";
import {
  apiVersionOf,
  controllerOf,
  type KubeObject,
  keyOf,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { labels } from "./child-names.ts";
import { isTerminal } from "#engine/index.ts";
import { isLetLive, stepSources } from "./compile/step-source.ts";
import { type StepStatus, Workflow } from "./kinds.ts";
import { statusOf } from "./reconcile/attempts.ts";
import type { Sight } from "./reconcile/pass.ts";
import { specOf } from "./spec-of.ts";

/** Objects with a workflow's uid and no controller. */
const strayIndex = "slipway.dev/stray";

/** Deterministic, as indexes require. */
const strayOf = ({ metadata }: Stored): readonly string[] => {
  const uid = metadata.labels?.[labels.uid];
  return uid === undefined || metadata.ownerReferences?.some((owner) => owner.controller === true) ? [] : [uid];
};

const ownKind = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind } as const;

/**
 * Mirrors of kinds that only some workflows need: a change triggers passes of the controlling workflow and of all that
 * refer to the object.
 */
export class WatchedKinds {
  readonly #manager: Manager;
  readonly #enqueue: (key: string) => void;
  readonly #mirrors: KindMirrors;

  constructor(manager: Manager, enqueue: (key: string) => void) {
    this.#manager = manager;
    this.#enqueue = enqueue;
    this.#mirrors = new KindMirrors({
      informers: manager.informers,
      prepare(informer) {
        informer.addIndex(strayIndex, strayOf);
        informer.addIndex(ownerIndex, ownerOf);
      },
      changed: ({ object, users }) => [...workflowsOf(object), ...users].forEach(enqueue),
    });
  }

  /** The mirror of a kind for a workflow, which gets a pass when it is filled or refused. Idempotent. */
  acquire(type: ResourceType, user: string): Informer {
    const { informer, isNew } = this.#mirrors.acquire(type, user);
    if (isNew) this.#enqueueOnceSynced(informer, user);
    return informer;
  }

  /** Triggers passes of `user` when the object changes. The kind must be acquired for it. */
  refer(type: ResourceType, objectKey: string, user: string): void {
    this.#mirrors.refer(type, objectKey, user);
  }

  strays(uid: string): readonly Stored[] {
    return this.#mirrors.informers.flatMap((informer) => informer.byIndex(strayIndex, uid));
  }

  controlledBy(owner: Stored): readonly Stored[] {
    return this.#mirrors.informers.flatMap((informer) => informer.byIndex(ownerIndex, owner.metadata.uid));
  }

  /** Whether all kinds of its templates are mirrored; missing mirrors are started and trigger a pass. */
  async sight(workflow: Stored<Workflow>): Promise<Sight> {
    const user = keyOf(workflow.metadata);
    const refusals = new Set<string>();
    let isFilling = false;
    for (const { key, step } of stepSources(specOf(workflow))) {
      const { apiVersion, kind } = step.workflow === undefined ? (step.template ?? {}) : ownKind;
      if (typeof apiVersion !== "string" || typeof kind !== "string") continue;
      const type = await this.#manager.client.resourceType(apiVersion, kind);
      const mirror = type === undefined ? undefined : this.acquire(type, user);
      if (mirror === undefined || mirror.hasSynced()) continue;
      const refusal = mirror.refusal();
      if (refusal === undefined) isFilling = true;
      else if (!isLetLive(step) && mayHaveChild(statusOf(workflow, key))) refusals.add(refusal.message);
    }
    if (isFilling) return { is: "filling" };
    return refusals.size === 0 ? { is: "complete" } : { is: "refused", message: [...refusals].join("; ") };
  }

  /** Releases everything acquired for a workflow; unused mirrors stop. */
  forget(user: string): void {
    this.#mirrors.forget(user);
  }

  close(): void {
    this.#mirrors.close();
  }

  #enqueueOnceSynced(informer: Informer, user: string): void {
    if (informer.hasSynced()) return;
    const never = new AbortController();
    const tell = (): void => this.#enqueue(user);
    void informer.readable(never.signal).then(tell, () => {
      tell();
      return informer.synced(never.signal).then(tell);
    });
  }
}

/** A seen child of an unfinished step. Names alone are stored before creation. */
function mayHaveChild({ phase, reference, items }: StepStatus = {}): boolean {
  if (phase === undefined || isTerminal(phase)) return false;
  return reference?.uid !== undefined || /[RC]/.test(items?.states ?? "");
}

const ownerIndex = "slipway.dev/owner";

/** By uid, because names are reused. */
const ownerOf = ({ metadata }: Stored): readonly string[] =>
  (metadata.ownerReferences ?? []).flatMap((owner) => (owner.controller === true ? [owner.uid] : []));

/** Workflows that a change concerns: the controller, or, for an uncontrolled object, the one of its labels. */
export function workflowsOf(object: KubeObject): readonly string[] {
  const { namespace, labels: given } = object.metadata;
  const owner = controllerOf(object);
  const name =
    owner === undefined
      ? given?.[labels.uid] === undefined
        ? undefined
        : given[labels.workflow]
      : owner.kind === Workflow.kind && owner.apiVersion.startsWith(`${Workflow.group}/`)
        ? owner.name
        : undefined;
  return name === undefined ? [] : [keyOf({ name, ...(namespace === undefined ? {} : { namespace }) })];
}
