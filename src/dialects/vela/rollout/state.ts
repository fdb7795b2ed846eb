import { formatInstant, type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import type { RolloutPhase, RolloutStatus } from "../schema/rollout.ts";

// The promotion of a rollout: pure, over the status of the Rollout object, which people edit to decide.

export interface PromotionSettings {
  readonly manualApproval: boolean;
  readonly rollbackIfNotApproved: boolean;
  readonly approvalTimeout: Millis;
}

/** What is to be done next, and the status that says so. */
export interface Promotion {
  readonly next: "wait" | "promote" | "rollBack" | "promoted" | "rolledBack";
  readonly status: RolloutStatus;
}

/** A status of another revision is that of an earlier rollout. */
export function promotionOf(
  before: RolloutStatus | undefined,
  revision: string,
  settings: PromotionSettings,
  now: Instant,
): Promotion {
  const status: RolloutStatus = before?.revision === revision ? before : { revision, phase: "rolled" };
  const { phase = "rolled" } = status;
  switch (phase) {
    case "succeeded":
      return { next: "promoted", status };
    case "rolledBack":
      return { next: "rolledBack", status };
    case "promoting":
      return { next: "promote", status };
    case "rollingBack":
      return { next: "rollBack", status };
    case "paused":
      return decided(status, settings, now);
    case "rolling":
    case "rolled":
      return settings.manualApproval
        ? paused(status, now)
        : become("promote", status, "promoting", `promoting ${revision}`);
  }
}

const paused = (status: RolloutStatus, now: Instant): Promotion => ({
  next: "wait",
  status: {
    ...rest(status),
    phase: "paused",
    pause: true,
    pausedTime: formatInstant(now),
    message: `waiting for approval of ${status.revision ?? ""}`,
  },
});

/** Decisions of an earlier wait do not count. */
function rest({ approved: _approved, ...others }: RolloutStatus): RolloutStatus {
  return others;
}

function decided(status: RolloutStatus, settings: PromotionSettings, now: Instant): Promotion {
  const { revision = "", approved, pause, pausedTime } = status;
  if (approved === false) {
    if (settings.rollbackIfNotApproved) return become("rollBack", status, "rollingBack", `${revision} was rejected`);
    return {
      next: "wait",
      status: { ...status, message: `${revision} was rejected; set status.pause to false to approve it` },
    };
  }
  if (approved === true || pause === false) return become("promote", status, "promoting", `${revision} was approved`);
  const since = pausedTime === undefined ? undefined : parseInstant(pausedTime);
  const isOver = since !== undefined && now >= since + settings.approvalTimeout;
  if (isOver && settings.rollbackIfNotApproved)
    return become("rollBack", status, "rollingBack", `${revision} was not approved in time`);
  return { next: "wait", status };
}

const become = (next: Promotion["next"], status: RolloutStatus, phase: RolloutPhase, message: string): Promotion => ({
  next,
  status: { ...status, phase, pause: false, message },
});
