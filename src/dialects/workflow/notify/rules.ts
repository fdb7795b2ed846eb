import type { WorkflowSpec } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { readTarget } from "./target-rules.ts";

/** Reports undeliverable targets. Addresses are checked when posting, because DNS may change. */
export function checkNotifications({ notifications = [] }: WorkflowSpec, report: Report): void {
  const at = ["spec", "notifications"];
  for (const [index, { url, secretRef }] of notifications.entries()) {
    if ((url === undefined) === (secretRef === undefined))
      report([...at, index], "not-exactly-one", "exactly one of url and secretRef is required");
    if (url === undefined) continue;
    // A Secret is checked when it is used.
    const read = readTarget(url);
    if (url.includes("${{")) report([...at, index, "url"], "invalid-value", "expressions are not filled in here");
    else if (!read.ok) report([...at, index, "url"], "invalid-value", read.error);
  }
}
