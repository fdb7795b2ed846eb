import type { PageCaller } from "#kernel/apiserver/index.ts";
import type { Millis } from "#lib/base/index.ts";
import type { StreamLine, Subscription } from "../wire.ts";
import type { UiContext } from "./context.ts";
import type { LogIndex } from "./logs.ts";

export type Line = Omit<StreamLine, "id" | "token">;

/** A subscription at work. */
export interface Following {
  readonly context: UiContext;
  readonly caller: PageCaller;
  readonly subscription: Subscription;
  readonly emit: (line: Line) => void;
  readonly signal: AbortSignal;
  readonly logs: LogIndex;
}

/** At most ten updates of one object in a second. */
export const updatesMs: Millis = 100;
