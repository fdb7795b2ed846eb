import type { JsonObject } from "#lib/base/index.ts";
import type { CueTask } from "#kernel/template/index.ts";
import type { ContextStore } from "./context-store.ts";
import type { StepOutcome } from "./outcome.ts";
import type { PassParts, Subject } from "./parts.ts";
import type { Place } from "./plan.ts";
import type { SecretTexts } from "./sensitive.ts";
import type { StepRecord } from "./state.ts";

/** One execution of one step. */
export interface StepJob {
  readonly parts: PassParts;
  readonly subject: Subject;
  readonly store: ContextStore;
  readonly place: Place;
  readonly stepId: string;
  readonly record: StepRecord;
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
