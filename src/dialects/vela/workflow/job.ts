import type { JsonObject } from "#lib/base/index.ts";
import type { CueTask } from "#kernel/template/index.ts";
import type { ContextStore } from "./context-store.ts";
import type { StepOutcome } from "./outcome.ts";
import type { PassParts, Subject } from "./parts.ts";
import type { Place } from "./plan.ts";
import type { SecretTexts } from "./sensitive.ts";
import type { StepStatus } from "./status.ts";

/** One execution of one step. */
export interface StepJob {
  readonly parts: PassParts;
  readonly subject: Subject;
  readonly store: ContextStore;
  readonly place: Place;
  readonly stepId: string;
  /** In the status. */
  readonly entry: StepStatus;
  /** It may have been begun by an earlier pass. */
  readonly isContinued: boolean;
  readonly runKey: string;
  /** Other steps read its output in their conditions. */
  readonly isRead: boolean;
  readonly secrets: SecretTexts;
  readonly settledEffect: (effect: string) => void;
}

/** Of a task, or of a native step as a text that holds it. */
export interface TaskEnd {
  readonly outcome: StepOutcome;
  readonly task?: CueTask;
}

export interface Prepared {
  readonly context: JsonObject;
  readonly parameter: JsonObject;
}

/** The number of this execution; the same again only after a crash. */
export const executionOf = ({ entry }: Pick<StepJob, "entry">): number => entry.executions ?? 0;
