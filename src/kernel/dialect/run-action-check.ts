import type { JsonObject } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { Dialect } from "./dialect.ts";
import { checkSchema } from "./document-checks.ts";
import type { Report } from "./problems.ts";
import { RunAction } from "./run-action.ts";

export type Languages = readonly Pick<Dialect, "name" | "kinds" | "runs">[];

/** Strict: servers drop unknown fields, and the document reader reports them. */
const schema = compileSchema(RunAction.schema);

/** Checks a RunAction: its schema (alone, if wrong), target, action, and fields; those without effect are refused. */
export function checkRunAction(document: JsonObject, languages: Languages, report: Report): void {
  if (!checkSchema(schema, document, report)) return;
  // The schema has accepted the document.
  const { spec, metadata } = document as unknown as RunAction;
  const { target, action } = spec;
  if (target.name === undefined || target.name === "")
    report(["spec", "target", "name"], "required", "the name of the run is required");
  const { namespace = target.namespace } = metadata;
  if (target.namespace !== undefined && target.namespace !== namespace)
    report(
      ["spec", "target", "namespace"],
      "invalid-value",
      `expected ${namespace}: the run must be in the namespace of its action`,
    );
  checkFields(spec, report);
  const language = languages.find((one) => runTypes(one).includes(typeOf(target)));
  if (language === undefined) return report(["spec", "target"], "unknown-target", `expected ${orList(languages)}`);
  const { accepts } = language.runs;
  if (accepts.actions.includes(action)) return accepts.check(spec, report);
  const known = accepts.actions.join(", ").replace(/, (?=\w+$)/, " or ");
  report(["spec", "action"], "not-carried", `expected ${known}: runs of ${language.name} do not support ${action}`);
}

/** Required and allowed fields of each action. */
function checkFields(spec: RunAction["spec"], report: Report): void {
  const { action, step, steps, values, force, fromFailed } = spec;
  const isForStep = action === "skip" || action === "approve" || action === "reject";
  if (isForStep && step === undefined) report(["spec", "step"], "required", `${action} needs the step to ${action}`);
  if (step !== undefined && action === "suspend")
    report(["spec", "step"], "forbidden", `${action} applies to the whole run`);
  if (values !== undefined && action !== "approve" && !(action === "resume" && step !== undefined))
    report(["spec", "values"], "forbidden", "only approvals may have values");
  if (steps !== undefined && action !== "retry")
    report(["spec", "steps"], "forbidden", "only retry may have several steps");
  if (fromFailed !== undefined && action !== "retry")
    report(["spec", "fromFailed"], "forbidden", "only retry may have fromFailed");
  if (force !== undefined && action !== "cancel") report(["spec", "force"], "forbidden", "only cancel may have force");
}

/** In every served version. */
const runTypes = ({ kinds, runs }: Languages[number]): readonly string[] =>
  kinds
    .filter(({ group, kind }) => runs.kinds.some((run) => run.group === group && run.kind === kind))
    .map((kind) => `${apiVersionOf(kind)} ${kind.kind}`);

const typeOf = ({ apiVersion = "", kind = "" }: RunAction["spec"]["target"]): string => `${apiVersion} ${kind}`;

const orList = (languages: Languages): string =>
  languages
    .flatMap(runTypes)
    .join(", ")
    .replace(/, (?=[^,]+$)/, " or ");
