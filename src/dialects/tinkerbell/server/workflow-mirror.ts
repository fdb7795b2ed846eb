import { isJsonObject } from "#lib/base/index.ts";
import type { Informer, InformerHandler } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type Age, awaitedAgents, byAge, type Candidate, type Queue } from "../dispatch-queue.ts";
import { ageOf, candidateOf } from "../candidate.ts";
import { agentKey } from "../state.ts";
import type { AnyWorkflow } from "../stored.ts";
import { placeKey, type WorkflowPlace } from "./workflow-id.ts";

export interface Mirrored extends Candidate {
  readonly workflow: Stored<AnyWorkflow>;
}

interface WorkflowObserver {
  readonly changed: (workflow: Stored<AnyWorkflow>) => void;
  readonly gone: (uid: string) => void;
}

/** Indexes by agent key, oldest first: unfinished, waiting and held workflows. */
const unfinished = "tinkerbell-unfinished";
const waiting = "tinkerbell-waiting";
const held = "tinkerbell-held";

/** Final states of both versions and of releases before 2025. */
const ended = /^(?:STATE_)?(?:SUCCESS|FAILED|TIMEOUT|CANCELED|Succeeded|Failed|Canceled)$/;

/** Cached for the indexes; small, because many workflows may wait. */
interface Card extends Age {
  readonly awaited: readonly string[];
}

/** All workflows by agent. Finding the next one costs the same however many wait; a change costs O(log n). */
export class WorkflowMirror {
  readonly #informer: Informer<AnyWorkflow>;
  /** Objects of a mirror are frozen and replaced on change. */
  readonly #decoded = new WeakMap<Stored<AnyWorkflow>, Mirrored>();

  readonly #cards = new WeakMap<Stored<AnyWorkflow>, Card>();

  /** Adds indexes, so call it before other uses of the informer. */
  constructor(informer: Informer<AnyWorkflow>) {
    this.#informer = informer;
    const order = (a: Stored<AnyWorkflow>, b: Stored<AnyWorkflow>): number => byAge(this.#card(a), this.#card(b));
    informer.addIndex(unfinished, unfinishedOf, order);
    informer.addIndex(held, (workflow) => some(toldOf(workflow)), order);
    informer.addIndex(waiting, (workflow) => this.#card(workflow).awaited, order);
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  /** Calls `changed` with each agent that a change concerns, until the returned function is called. */
  onChange(changed: (agent: string) => void): () => void {
    const tell = (...versions: readonly Stored<AnyWorkflow>[]): void => {
      for (const agent of new Set(versions.flatMap(agentsOf))) changed(agent);
    };
    const handler: InformerHandler<AnyWorkflow> = {
      add: (workflow) => tell(workflow),
      update: (old, workflow) => tell(old, workflow),
      delete: (workflow) => tell(workflow),
    };
    return this.#informer.addHandler(handler);
  }

  /** Reports changes and deletions, until the returned function is called. */
  onWorkflow({ changed, gone }: WorkflowObserver): () => void {
    return this.#informer.addHandler({
      add: () => undefined,
      update: (_old, workflow) => changed(workflow),
      delete: ({ metadata }) => gone(metadata.uid),
    });
  }

  all(): readonly Stored<AnyWorkflow>[] {
    return this.#informer.list();
  }

  queueOf(key: string): Queue<Mirrored> {
    return { held: this.heldBy(key), oldest: this.#first(waiting, key) };
  }

  heldBy(key: string): readonly Mirrored[] {
    return Array.from(this.#informer.inOrder(held, key), (workflow) => this.#mirrored(workflow));
  }

  holders(): ReadonlySet<string> {
    return new Set(this.all().flatMap((workflow) => some(toldOf(workflow))));
  }

  hasUnfinished(key: string): boolean {
    return this.#first(unfinished, key) !== undefined;
  }

  get(place: WorkflowPlace): Mirrored | undefined {
    const workflow = this.#informer.get(placeKey(place));
    return workflow === undefined || (place.uid !== undefined && workflow.metadata.uid !== place.uid)
      ? undefined
      : this.#mirrored(workflow);
  }

  #first(index: string, key: string): Mirrored | undefined {
    for (const workflow of this.#informer.inOrder(index, key)) return this.#mirrored(workflow);
    return undefined;
  }

  /** Decodes each version at most once. */
  #mirrored(workflow: Stored<AnyWorkflow>): Mirrored {
    const known = this.#decoded.get(workflow);
    if (known !== undefined) return known;
    const { key, createdAt, uid } = this.#card(workflow);
    const mirrored = { key, createdAt, uid, ...candidateOf(workflow), workflow };
    this.#decoded.set(workflow, mirrored);
    return mirrored;
  }

  #card(workflow: Stored<AnyWorkflow>): Card {
    const known = this.#cards.get(workflow);
    if (known !== undefined) return known;
    // Finished and held workflows do not wait; most need not be decoded to know.
    const mayWait = unfinishedOf(workflow).length > 0 && toldOf(workflow) === undefined;
    const card = { ...ageOf(workflow), awaited: mayWait ? awaitedAgents(candidateOf(workflow)) : [] };
    this.#cards.set(workflow, card);
    return card;
  }
}

const some = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);

// Reads the raw status, because indexes are computed on every change; both shapes have these fields.

function toldOf({ status = {} }: AnyWorkflow): string | undefined {
  const { dispatch } = status;
  if (!isJsonObject(dispatch) || dispatch["held"] !== true) return undefined;
  const { agentID } = dispatch;
  return typeof agentID === "string" && agentID !== "" ? agentKey(agentID) : undefined;
}

/** Agents whose turn it is; mostly one. */
function unfinishedOf({ status = {} }: AnyWorkflow): readonly string[] {
  const { agentID, otherAgentIDs, state } = status;
  if (typeof agentID !== "string" || agentID === "" || (typeof state === "string" && ended.test(state))) return [];
  if (!Array.isArray(otherAgentIDs)) return [agentKey(agentID)];
  return [agentID, ...otherAgentIDs].filter((id) => typeof id === "string").map(agentKey);
}

/** Agents that a change may concern; none for a finished workflow whose agent is free. */
const agentsOf = (workflow: AnyWorkflow): readonly string[] => [...unfinishedOf(workflow), ...some(toldOf(workflow))];
