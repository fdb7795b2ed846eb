import type { WorkflowSpec } from "../kinds.ts";
import { checkNotifications } from "../notify/rules.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { ownFields } from "../spec-of.ts";
import { checkReserved, isReserved } from "./shape.ts";

const allowed: ReadonlySet<string> = new Set(["templateRef", ...ownFields]);

/** Reports fields that a spec with `templateRef` cannot have. Arguments are checked when the run reads the template. */
export function checkTemplateRef(spec: WorkflowSpec, report: Report): void {
  checkReserved(spec, [], report);
  checkNotifications(spec, report);
  const given = ownFields.filter((field) => field !== "metadata").join(", ");
  for (const field of Object.keys(spec)) {
    if (allowed.has(field) || isReserved(field)) continue;
    report(["spec", field], "forbidden", `comes from the template; with templateRef, a spec may set only ${given}`);
  }
}
