import { defined, isTrueAt, numberAt, textAt } from "#lib/base/index.ts";
import type { App } from "../app.ts";
import { firstRule, policiesOfType, type RuleSubject } from "./rules.ts";

type Policies = Pick<App, "policies">;

/** `onAppUpdate`: deleted with its revision; `onAppDelete`: with the application. */
export type RetentionStrategy = "onAppUpdate" | "onAppDelete" | "never";

export interface Retention {
  readonly strategy: RetentionStrategy;
  /** Its own dependants stay. */
  readonly isOrphaning: boolean;
}

export function retentionOf(app: Policies, subject: RuleSubject): Retention {
  const rule = firstRule(app, "garbage-collect", subject);
  const strategy = textAt(rule, "strategy");
  return {
    strategy: strategy === "onAppDelete" || strategy === "never" ? strategy : "onAppUpdate",
    isOrphaning: textAt(rule, "propagation") === "orphan",
  };
}

export interface GarbageSettings {
  /** Objects of older revisions stay until the application is deleted. */
  readonly keepsLegacy: boolean;
  /** Collects after a failed workflow, too. */
  readonly continuesOnFailure: boolean;
  /** The objects of a component go only after those of its dependants are gone. */
  readonly inOrder: boolean;
  readonly revisionLimit?: number;
}

export function garbageSettings(app: Policies): GarbageSettings {
  const all = policiesOfType(app, "garbage-collect").map(({ properties }) => properties);
  const limit = all.map((one) => numberAt(one, "applicationRevisionLimit")).find((one) => one !== undefined);
  return {
    keepsLegacy: all.some((one) => isTrueAt(one, "keepLegacyResource")),
    continuesOnFailure: all.some((one) => isTrueAt(one, "continueOnFailure")),
    inOrder: all.some((one) => one["order"] === "dependency"),
    ...defined({ revisionLimit: limit }),
  };
}
