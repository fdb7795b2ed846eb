import type { JsonObject } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import type { ProblemCollector } from "#kernel/dialect/index.ts";
import { Application, Package, Policy, Workflow, WorkflowRun } from "../kinds.ts";
import { nameApplication, nameWorkflow, nameWorkflowRun } from "../names.ts";
import { checkApplication, checkPackage, checkPolicyObject, checkWorkflow, checkWorkflowRun } from "./application.ts";

/** What is filled in, and then checked, of documents and of objects that are stored. */
export interface KindRules {
  readonly complete: (object: JsonObject) => JsonObject;
  readonly check: (object: JsonObject, found: ProblemCollector) => void;
}

const none: KindRules = { complete: (object) => object, check: () => undefined };

const rules: ReadonlyMap<Kind, Partial<KindRules>> = new Map<Kind, Partial<KindRules>>([
  [Application, { complete: nameApplication, check: checkApplication }],
  [WorkflowRun, { complete: nameWorkflowRun, check: checkWorkflowRun }],
  [Workflow, { complete: nameWorkflow, check: checkWorkflow }],
  [Policy, { check: checkPolicyObject }],
  [Package, { check: checkPackage }],
]);

export const kindRules = (kind: Kind): KindRules => ({ ...none, ...rules.get(kind) });
