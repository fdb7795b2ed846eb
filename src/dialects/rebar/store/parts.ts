import { type Clock, formatInstant, type Logger, type Random, type Result } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isConflict, isNotFound } from "#kernel/model/index.ts";
import { type ModelError, Refused, refusal } from "../failure.ts";
import type { JobLogs } from "../job-logs.ts";
import type { Collection, Job, Machine } from "../objects.ts";
import type { Renderer } from "../render.ts";
import type { Principal, World } from "../world.ts";
import type { Events } from "./events.ts";
import type { Mirror } from "./mirror.ts";
import type { Projections } from "./projections.ts";
import type { TokenKey } from "./secrets.ts";
import type { Writer } from "./writer.ts";

/** An `action:` entry of a machine's tasks, whose job is running. */
export interface ActionRequest {
  readonly machine: Machine;
  readonly job: Job;
  readonly plugin?: string;
  readonly command: string;
  readonly by: Principal;
  readonly signal: AbortSignal;
}

/** `log` is what the job's log gets. */
export interface ActionEnd {
  readonly isOk: boolean;
  readonly log: string;
}

/** What the functions of the store work with. */
export interface Parts {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly mirror: Mirror;
  /** The mirror, as the rules see it. */
  readonly world: World;
  readonly writer: Writer;
  readonly events: Events;
  readonly projections: Projections;
  readonly tokens: TokenKey;
  readonly inTurn: <T>(key: string, work: () => T | Promise<T>) => Promise<T>;
  readonly renderer: Pick<Renderer, "check"> | undefined;
  readonly logs: JobLogs | undefined;
  /** What bundles may require. */
  readonly features: readonly string[];
  readonly runAction: ((request: ActionRequest) => Promise<ActionEnd>) | undefined;
  /** Completes what others have written directly; see `direct-edits.ts`. */
  readonly complete: (collection: Collection, key: string) => Promise<void>;
}

const mostTries = 5;

export const lockOf = (collection: Collection, key: string): string => `${collection}/${key}`;

export const nowText = ({ clock }: Pick<Parts, "clock">): string => formatInstant(clock.now());

/** 62 characters that need no escaping in URLs. */
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
export const randomText = ({ random }: Pick<Parts, "random">, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");

export const newUuid = (): string => newUid();

/** Throws what a pure rule refuses. */
export function taken<T>(result: Result<T, ModelError>): T {
  if (result.ok) return result.value;
  throw new Refused(result.error);
}

export const refuse = (error: ModelError | undefined): void => {
  if (error !== undefined) throw new Refused(error);
};

export const missing = (collection: Collection, key: string): Refused =>
  new Refused(refusal(404, "", collection, key, "Not Found"));

/** One writer per object at a time; `run` begins anew after a write of others. */
export function changing<T>(parts: Parts, collection: Collection, key: string, run: () => Promise<T>): Promise<T> {
  return parts.inTurn(lockOf(collection, key), async () => {
    for (let tries = 1; ; tries++) {
      const known = parts.mirror.table(collection).entry(key);
      try {
        return await run();
      } catch (thrown) {
        if (!isConflict(thrown) && !isNotFound(thrown)) throw thrown;
        if (known === undefined) throw missing(collection, key);
        if (tries === mostTries)
          throw new Refused(refusal(409, "Conflict", collection, key, "changed by others at the same time"));
        await parts.writer.refresh(collection, known.object.metadata.name);
      }
    }
  });
}
