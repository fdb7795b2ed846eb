import type { JsonObject } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { RunAction, Workflow } from "./kinds.ts";
import type { Report } from "../problems.ts";

const schema = compileSchema(RunAction.schema);

/**
 * Checks a RunAction document: its schema, a target some dialect of this version can act on, and fields that fit the
 * action. Fields that mean nothing for an action are refused, so that nobody believes they had an effect. What the
 * schema refuses is reported alone: the rest could not be read.
 */
export function checkRunAction(document: JsonObject, report: Report): void {
  const errors = schema.validate(document);
  for (const error of errors) report(error.field.split("."), "invalid-value", error.message);
  if (errors.length > 0) return;
  // The schema has passed the document.
  const { spec } = document as unknown as RunAction;
  const { target, action, step, steps, values, force } = spec;
  if (target.name === undefined || target.name === "")
    report(["spec", "target", "name"], "required", "the name of the run is required");
  if (target.apiVersion !== apiVersionOf(Workflow) || target.kind !== Workflow.kind) {
    const message = `expected a ${apiVersionOf(Workflow)} Workflow, the only runs of this version`;
    report(["spec", "target"], "unknown-target", message);
  }
  const isForStep = action === "skip" || action === "approve" || action === "reject";
  if (isForStep && step === undefined) report(["spec", "step"], "required", `${action} needs the step to ${action}`);
  if (step !== undefined && action === "suspend")
    report(["spec", "step"], "forbidden", `${action} is for the whole run`);
  if (values !== undefined && action !== "approve" && !(action === "resume" && step !== undefined))
    report(["spec", "values"], "forbidden", "only an approval takes values");
  if (steps !== undefined && action !== "retry")
    report(["spec", "steps"], "forbidden", "only retry takes several steps");
  if (force !== undefined && action !== "cancel") report(["spec", "force"], "forbidden", "only cancel can be forced");
}
