import type { Clock, JsonObject, Logger } from "#lib/base/index.ts";
import type { BlobStore } from "#kernel/artifacts/index.ts";
import type { Accounts, SecureParams } from "../accounts.ts";
import type { JobLogs } from "../job-logs.ts";
import type { Collection } from "../objects.ts";
import type { AgentPresence } from "../machine-agents.ts";
import type { Renderer } from "../render.ts";
import type { RebarStore } from "../store.ts";
import type { Actions } from "../plugins/actions.ts";
import type { Call } from "./call.ts";
import type { Callers } from "./callers.ts";
import type { ServerFacts } from "./info.ts";
import type { KeptOpen } from "./kept-open.ts";

/** What the API stands on. */
export interface ApiGrounds {
  readonly store: RebarStore;
  readonly renderer: Renderer;
  readonly logs: JobLogs;
  readonly accounts: Accounts;
  readonly secure: SecureParams;
  readonly actions: Actions;
  /** Told of the agents of machines that ask. */
  readonly agents?: AgentPresence | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What routes are made of. */
export interface ApiParts extends ApiGrounds {
  readonly files: BlobStore;
  readonly isos: BlobStore;
  /** Unpacked installation images, such as `centos-7/install`. */
  readonly trees: BlobStore;
  readonly callers: Callers;
  readonly keptOpen: KeptOpen;
  readonly facts: () => ServerFacts;
  /** Opens sealed params of an object that the caller may see decoded. */
  decoded(call: Call, collection: Collection, key: string, object: JsonObject): Promise<JsonObject>;
}
