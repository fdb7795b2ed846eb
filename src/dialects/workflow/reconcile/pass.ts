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

export interface Tally {
  /** Stale, unknown or illegal facts of a turn. */
  ignoredFacts(count: number): void;
  /** A conflict: nothing was done and the pass is repeated. */
  statusConflict(): void;
  staleEffectsPrevented(): void;
  cacheAsked(outcome: CacheOutcome): void;
}

/** Result of looking for a template. From then on its changes trigger passes. */
export type TemplateLook =
  | { readonly is: "found"; readonly template: Stored<WorkflowTemplate> }
  | { readonly is: "missing" }
  /** The writer may not read it. */
  | { readonly is: "refused"; readonly message: string };

/** Whether all possible children can be seen. A pass is triggered when a mirror is filled or becomes watchable. */
export type Sight =
  | { readonly is: "complete" }
  | { readonly is: "filling" }
  | { readonly is: "refused"; readonly message: string };

/** Reads include the controller's own writes. */
export interface Parts {
  readonly client: ApiClient;
  /** With the rights of the workflow's writer, for what the run does. */
  readonly clientFor: (workflow: Stored<Workflow>) => ApiClient;
  readonly clock: Clock;
  readonly workflows: Lister<Workflow>;
  readonly actions: Lister<RunAction>;
  readonly jobs: Lister;
  readonly limits: Lister<ConcurrencyLimit>;
  readonly cacheEntries: Lister<CacheEntry>;
  readonly slots: SharedSlots;
  readonly claimsIn: (namespace: string) => readonly Claim[];
  readonly kinds: {
    strays(uid: string): readonly Stored[];
    controlledBy(owner: Stored): readonly Stored[];
    sight(workflow: Stored<Workflow>): Promise<Sight>;
    forget(key: string): void;
  };
  /** Reads with the rights of the workflow's writer. */
  readonly templates: {
    look(workflow: Stored<Workflow>, name: string, signal: AbortSignal): Promise<TemplateLook>;
  };
  /** One per step type; stateless. */
  readonly executors: Executors;
  readonly tally: Tally;
  /** Records an event about a stored version, best effort. */
  record(workflow: Stored<Workflow>, notice: Notice): void;
}

export interface Pass extends Parts {
  readonly key: string;
  readonly workflow: Stored<Workflow>;
  readonly memory: Memory;
  /** One instant per turn, so that times in a status agree. */
  readonly now: Instant;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Another turn at once, or a look after some time. */
export interface Turn {
  readonly again?: Stored<Workflow>;
  readonly wake?: Millis | undefined;
}
