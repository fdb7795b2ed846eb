import type { Millis } from "#lib/base/index.ts";
import { present } from "./members.ts";

/** Members that may be left out, or left undefined by whoever reads them one by one. */
export type Some<T> = { readonly [K in keyof T]?: T[K] | undefined };

export interface Settings {
  /** For an agent to start a workflow it was sent. */
  readonly scheduledTimeout: Millis;
  /** For an agent to confirm that it stopped. */
  readonly cancellingTimeout: Millis;
  readonly rejectBackoff: { readonly base: Millis; readonly max: Millis; readonly jitter: number };
  /** For an action whose agent restarts: machines being provisioned restart, and most actions can run twice. */
  readonly interruptedActions: "Rerun" | "Fail";
  /** Includes interrupted starts. */
  readonly maxActionAttempts: number;
  /** Fails the work of an agent that was not seen for this long; 0 is never. */
  readonly agentLostTimeout: Millis;
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

/** The settings that were given; absent ones have their defaults. */
export type GivenSettings = Some<Omit<Settings, "rejectBackoff">> & {
  readonly rejectBackoff?: Some<Settings["rejectBackoff"]>;
};

export const completeSettings = ({ rejectBackoff = {}, ...given }: GivenSettings): Settings => ({
  ...defaultSettings,
  ...present(given),
  rejectBackoff: { ...defaultSettings.rejectBackoff, ...present(rejectBackoff) },
});
