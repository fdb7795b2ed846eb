import { isJsonObject } from "#lib/base/index.ts";
import type { Informer, InformerHandler } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type Age, awaitedAgents, byAge, type Candidate, type Queue } from "../dispatch-queue.ts";
import { ageOf, candidateOf } from "../candidate.ts";
import { agentKey } from "../state.ts";
import type { AnyWorkflow } from "../stored.ts";
import { placeKey, type WorkflowPlace } from "./workflow-id.ts";

/** A workflow as the server looks at it. */
export interface Mirrored extends Candidate {
  readonly workflow: Stored<AnyWorkflow>;
}

/** Is told of workflows. */
interface WorkflowObserver {
  readonly changed: (workflow: Stored<AnyWorkflow>) => void;
  readonly gone: (uid: string) => void;
}

/** Workflows that are not at an end, those that wait, and those that are held, by the keys of their agents; the oldest first each. */
const unfinished = "tinkerbell-unfinished";
const waiting = "tinkerbell-waiting";
const held = "tinkerbell-held";

/** States after which nothing comes, in the words of both versions and of releases before 2025. */
const ended = /^(?:STATE_)?(?:SUCCESS|FAILED|TIMEOUT|CANCELED|Succeeded|Failed|Canceled)$/;

/** What the indexes ask again and again of one version of a workflow. Little of each: very many may wait. */
interface Card extends Age {
  readonly awaited: readonly string[];
}

/**
 * All workflows, by the agents they concern: whose turn it is, and who was told last. What an agent gets next costs the same however many
 * wait for it, and so does each change of one of them, but for O(log n) comparisons to put it in its place.
 */
export class WorkflowMirror {
  readonly #informer: Informer<AnyWorkflow>;
  /** Objects of a mirror are frozen, and new ones with every change. */
  readonly #decoded = new WeakMap<Stored<AnyWorkflow>, Mirrored>();

  readonly #cards = new WeakMap<Stored<AnyWorkflow>, Card>();

  /** Only before the informer is used otherwise: it gets indexes. */
  constructor(informer: Informer<AnyWorkflow>) {
    this.#informer = informer;
    const order = (a: Stored<AnyWorkflow>, b: Stored<AnyWorkflow>): number => byAge(this.#card(a), this.#card(b));
    informer.addIndex(unfinished, unfinishedOf, order);
    informer.addIndex(held, (workflow) => some(toldOf(workflow)), order);
    informer.addIndex(waiting, (workflow) => this.#card(workflow).awaited, order);
  }

  /** Resolves when all workflows have been read once. */
  synced(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  /** Calls `changed` with the key of each agent that a change concerns; until the answered function is called. */
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

  /** Tells of changes of workflows, but not of new ones; until the answered function is called. */
  onWorkflow({ changed, gone }: WorkflowObserver): () => void {
    return this.#informer.addHandler({
      add: () => undefined,
      update: (_old, workflow) => changed(workflow),
      delete: ({ metadata }) => gone(metadata.uid),
    });
  }

  /** Every workflow, in no order. */
  all(): readonly Stored<AnyWorkflow>[] {
    return this.#informer.list();
  }

  /** What decides what the agent gets next. */
  queueOf(key: string): Queue<Mirrored> {
    return { held: this.heldBy(key), oldest: this.#first(waiting, key) };
  }

  /** Those an agent is not known to be free of, the oldest first. */
  heldBy(key: string): readonly Mirrored[] {
    return Array.from(this.#informer.inOrder(held, key), (workflow) => this.#mirrored(workflow));
  }

  /** Keys of all agents that are not known to be free. */
  holders(): ReadonlySet<string> {
    return new Set(this.all().flatMap((workflow) => some(toldOf(workflow))));
  }

  /** Whether one whose turn it is at is not at an end. */
  hasUnfinished(key: string): boolean {
    return this.#first(unfinished, key) !== undefined;
  }

  /** The workflow of that name, if it is the one that is meant. */
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

  /** Decodes at most once for each version of an object. */
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
    // What is at an end, and what is held, waits for nobody: most need not be decoded to know it.
    const mayWait = unfinishedOf(workflow).length > 0 && toldOf(workflow) === undefined;
    const card = { ...ageOf(workflow), awaited: mayWait ? awaitedAgents(candidateOf(workflow)) : [] };
    this.#cards.set(workflow, card);
    return card;
  }
}

const some = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);

// Read from the status as it is, which both shapes have in these places: indexes are computed for every change of every workflow.

/** The key of the agent that holds it. */
function toldOf({ status = {} }: AnyWorkflow): string | undefined {
  const { dispatch } = status;
  if (!isJsonObject(dispatch) || dispatch["held"] !== true) return undefined;
  const { agentID } = dispatch;
  return typeof agentID === "string" && agentID !== "" ? agentKey(agentID) : undefined;
}

/** The keys of the agents whose turn it is, of one that is not at an end: mostly one. */
function unfinishedOf({ status = {} }: AnyWorkflow): readonly string[] {
  const { agentID, otherAgentIDs, state } = status;
  if (typeof agentID !== "string" || agentID === "" || (typeof state === "string" && ended.test(state))) return [];
  if (!Array.isArray(otherAgentIDs)) return [agentKey(agentID)];
  return [agentID, ...otherAgentIDs].filter((id) => typeof id === "string").map(agentKey);
}

/** Every agent that a change of it may concern: what has ended concerns nobody, once its agent is free of it. */
const agentsOf = (workflow: AnyWorkflow): readonly string[] => [...unfinishedOf(workflow), ...some(toldOf(workflow))];
