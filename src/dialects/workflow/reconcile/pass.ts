import type { Clock, Instant, Logger, Millis } from "#lib/base/index.ts";
import type { ApiClient, Lister } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { CacheEntry } from "../cache/kind.ts";
import type { CacheOutcome } from "../cache/lookup.ts";
import type { Workflow, WorkflowTemplate } from "../kinds.ts";
import type { RunAction } from "#kernel/dialect/index.ts";
import type { Claim } from "../locks/claims.ts";
import type { ConcurrencyLimit } from "../locks/kind.ts";
import type { Notice } from "../messages.ts";
import type { SharedSlots } from "../shared-slots.ts";
import type { Executors } from "../steps/executor.ts";
import type { Memory } from "./memory.ts";

/** Counts what only the reconciler sees; for those who look after a control plane. */
export interface Tally {
  /** Facts that were stale, unknown or illegal, in one turn. */
  ignoredFacts(count: number): void;
  /** Somebody else had written the status meanwhile: nothing was done, and the pass is made again. */
  statusConflict(): void;
  /** What a stale mirror asked for was not done. */
  staleEffectsPrevented(): void;
  /** A step with a cache, or an item of one, was about to start. */
  cacheAsked(outcome: CacheOutcome): void;
}

/** What looking for a template has shown. From then on the workflow gets a pass when the template comes, changes or goes. */
export type TemplateLook =
  | { readonly is: "found"; readonly template: Stored<WorkflowTemplate> }
  | { readonly is: "missing" }
  /** Its writer may not read it. */
  | { readonly is: "refused"; readonly message: string };

/**
 * Whether everything that a workflow may have created can be seen. It gets a pass when a mirror that is being filled is, and when what may not be
 * watched, in the server's words, may be.
 */
export type Sight =
  | { readonly is: "complete" }
  | { readonly is: "filling" }
  | { readonly is: "refused"; readonly message: string };

/** What the controller works with. Reads see its own writes at once. */
export interface Parts {
  readonly client: ApiClient;
  /** With the rights of who wrote the workflow: for what the run does, not for what it is. */
  readonly clientFor: (workflow: Stored<Workflow>) => ApiClient;
  readonly clock: Clock;
  readonly workflows: Lister<Workflow>;
  /** With the index `targetIndex`. */
  readonly actions: Lister<RunAction>;
  readonly jobs: Lister;
  readonly limits: Lister<ConcurrencyLimit>;
  readonly cacheEntries: Lister<CacheEntry>;
  readonly slots: SharedSlots;
  /** What workflows of a namespace wait for of limits, in the order they get it. */
  readonly claimsIn: (namespace: string) => readonly Claim[];
  readonly kinds: {
    strays(uid: string): readonly Stored[];
    controlledBy(owner: Stored): readonly Stored[];
    sight(workflow: Stored<Workflow>): Promise<Sight>;
    forget(key: string): void;
  };
  /** Reads a template with the rights of whoever wrote the workflow. */
  readonly templates: {
    look(workflow: Stored<Workflow>, name: string, signal: AbortSignal): Promise<TemplateLook>;
  };
  /** One per step type; they start, observe and cancel attempts, and keep nothing. */
  readonly executors: Executors;
  readonly tally: Tally;
  /** Tells people, best effort. Only of what is stored: `workflow` is the stored version. */
  record(workflow: Stored<Workflow>, notice: Notice): void;
}

/** One pass over one workflow, as its stages see it. */
export interface Pass extends Parts {
  /** `namespace/name`. */
  readonly key: string;
  readonly workflow: Stored<Workflow>;
  readonly memory: Memory;
  /** One instant for everything in a turn, so that times in a status agree with each other. */
  readonly now: Instant;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** What a turn leaves to do: another turn at once about this version, or a look after some time. */
export interface Turn {
  readonly again?: Stored<Workflow>;
  readonly wake?: Millis | undefined;
}
