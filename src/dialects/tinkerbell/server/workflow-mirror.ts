import { isJsonObject, parseInstant } from "#lib/base/index.ts";
import type { Informer, InformerHandler } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { Candidate } from "../dispatch-queue.ts";
import { agentKey } from "../state.ts";
import { type AnyWorkflow, stateOf } from "../stored.ts";
import { placeKey, type WorkflowPlace } from "./workflow-id.ts";

/** A workflow as the server looks at it. */
export interface Mirrored extends Candidate {
  readonly workflow: Stored<AnyWorkflow>;
}

const index = "tinkerbell-agent";

/** States after which nothing comes, in the words of both versions and of releases before 2025. */
const ended = /^(?:STATE_)?(?:SUCCESS|FAILED|TIMEOUT|CANCELED|Succeeded|Failed|Canceled)$/;

/**
 * All workflows, by the agents they concern: whose turn it is, and who was told last. A workflow is decoded once for each version of it, so
 * that a long queue costs nothing but a look at each.
 */
export class WorkflowMirror {
  readonly #informer: Informer<AnyWorkflow>;
  /** Objects of a mirror are frozen, and new ones with every change. */
  readonly #decoded = new WeakMap<Stored<AnyWorkflow>, Mirrored>();

  /** Only before the informer is used otherwise: it gets an index. */
  constructor(informer: Informer<AnyWorkflow>) {
    this.#informer = informer;
    informer.addIndex(index, agentsOf);
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

  /** Every workflow that an agent may have to do with, in no order. */
  ofAgent(key: string): readonly Mirrored[] {
    return this.#informer.byIndex(index, key).map((workflow) => this.#mirrored(workflow));
  }

  /** Those an agent is not known to be free of. */
  heldBy(key: string): readonly Mirrored[] {
    return this.ofAgent(key).filter(
      ({ state: { dispatch } }) => dispatch.held && agentKey(dispatch.agentID ?? "") === key,
    );
  }

  /** The workflow of that name, if it is the one that is meant. */
  get(place: WorkflowPlace): Mirrored | undefined {
    const workflow = this.#informer.get(placeKey(place));
    return workflow === undefined || (place.uid !== undefined && workflow.metadata.uid !== place.uid)
      ? undefined
      : this.#mirrored(workflow);
  }

  /** Decodes at most once for each version of an object. */
  #mirrored(workflow: Stored<AnyWorkflow>): Mirrored {
    const known = this.#decoded.get(workflow);
    if (known !== undefined) return known;
    const { metadata, spec = {} } = workflow;
    const mirrored: Mirrored = {
      workflow,
      key: keyOf(metadata),
      state: stateOf(workflow),
      createdAt: parseInstant(metadata.creationTimestamp ?? "") ?? 0,
      uid: metadata.uid,
      isDisabled: spec["disabled"] === true,
      isDeleted: metadata.deletionTimestamp !== undefined,
    };
    this.#decoded.set(workflow, mirrored);
    return mirrored;
  }
}

/** Read from the status as it is, which both shapes have in these places: an index is computed for every change of every workflow. */
function agentsOf({ status = {} }: AnyWorkflow): readonly string[] {
  const { agentID, dispatch, state } = status;
  // What has ended concerns nobody any more, once its agent is free of it: an agent's past may be long.
  const isHeld = isJsonObject(dispatch) && dispatch["held"] === true;
  if (!isHeld && typeof state === "string" && ended.test(state)) return [];
  const told = isJsonObject(dispatch) ? dispatch["agentID"] : undefined;
  const keys = [agentID, told].map((id) => (typeof id === "string" ? agentKey(id) : ""));
  return [...new Set(keys)].filter((key) => key !== "");
}
