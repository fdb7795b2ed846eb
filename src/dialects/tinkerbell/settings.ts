import type { Millis } from "#lib/base/index.ts";
import { present } from "./members.ts";
import type { GivenSettings } from "./given-options.ts";

/** What a person may configure of carrying out workflows. */
export interface Settings {
  /** An agent that was told of a workflow has to begin it within this time. */
  readonly scheduledTimeout: Millis;
  /** An agent that was told to stop has to confirm it within this time. */
  readonly cancellingTimeout: Millis;
  readonly rejectBackoff: { readonly base: Millis; readonly max: Millis; readonly jitter: number };
  /**
   * What becomes of an action whose agent has begun anew in the middle of it: machines that are provisioned restart, and most
   * actions can be done twice. Whose actions cannot asks for `Fail`.
   */
  readonly interruptedActions: "Rerun" | "Fail";
  /** Starts of one action, interrupted ones included. */
  readonly maxActionAttempts: number;
  /** An agent that was not seen for so long has failed what it holds; 0 is never. */
  readonly agentLostTimeout: Millis;
  /** The most that a template may write. */
  readonly maxRenderBytes: number;
}

export const defaultSettings: Settings = {
  scheduledTimeout: 120_000,
  cancellingTimeout: 60_000,
  rejectBackoff: { base: 5000, max: 300_000, jitter: 0.2 },
  interruptedActions: "Rerun",
  maxActionAttempts: 3,
  agentLostTimeout: 0,
  maxRenderBytes: 262_144,
};

/** What a person has set, and for everything else what is usual. */
export const completeSettings = ({ rejectBackoff = {}, ...given }: GivenSettings): Settings => ({
  ...defaultSettings,
  ...present(given),
  rejectBackoff: { ...defaultSettings.rejectBackoff, ...present(rejectBackoff) },
});
