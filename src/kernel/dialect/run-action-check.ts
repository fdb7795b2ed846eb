import type { JsonObject } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { Dialect } from "./dialect.ts";
import { checkSchema } from "./document-checks.ts";
import type { Report } from "./problems.ts";
import { RunAction } from "./run-action.ts";

/** What actions are checked with: of every language, which kinds are runs and what can be asked of them. */
export type Languages = readonly Pick<Dialect, "name" | "kinds" | "runs">[];

/** Strict: fields that it does not know are dropped by a server, and reported by the reader of documents. */
const schema = compileSchema(RunAction.schema);

/**
 * Checks a RunAction document: its schema, a target that is a run of some language, an action that this language has a word for, and
 * fields that fit the action. Fields that mean nothing for an action are refused, so that nobody believes they had an effect. What
 * the schema refuses is reported alone: the rest could not be read.
 */
export function checkRunAction(document: JsonObject, languages: Languages, report: Report): void {
  if (!checkSchema(schema, document, report)) return;
  // The schema has passed the document.
  const { spec, metadata } = document as unknown as RunAction;
  const { target, action } = spec;
  if (target.name === undefined || target.name === "")
    report(["spec", "target", "name"], "required", "the name of the run is required");
  const { namespace = target.namespace } = metadata;
  if (target.namespace !== undefined && target.namespace !== namespace)
    report(["spec", "target", "namespace"], "invalid-value", `expected ${namespace}: actions are for runs beside them`);
  checkFields(spec, report);
  const language = languages.find((one) => runTypes(one).includes(typeOf(target)));
  if (language === undefined) return report(["spec", "target"], "unknown-target", `expected ${orList(languages)}`);
  const { accepts } = language.runs;
  if (accepts.actions.includes(action)) return accepts.check(spec, report);
  const known = accepts.actions.join(", ").replace(/, (?=\w+$)/, " or ");
  report(["spec", "action"], "not-carried", `expected ${known}: runs of ${language.name} know no ${action}`);
}

/** What each action has to have, and what only some take. */
function checkFields(spec: RunAction["spec"], report: Report): void {
  const { action, step, steps, values, force, fromFailed } = spec;
  const isForStep = action === "skip" || action === "approve" || action === "reject";
  if (isForStep && step === undefined) report(["spec", "step"], "required", `${action} needs the step to ${action}`);
  if (step !== undefined && action === "suspend")
    report(["spec", "step"], "forbidden", `${action} is for the whole run`);
  if (values !== undefined && action !== "approve" && !(action === "resume" && step !== undefined))
    report(["spec", "values"], "forbidden", "only an approval takes values");
  if (steps !== undefined && action !== "retry")
    report(["spec", "steps"], "forbidden", "only retry takes several steps");
  if (fromFailed !== undefined && action !== "retry")
    report(["spec", "fromFailed"], "forbidden", "only retry begins somewhere");
  if (force !== undefined && action !== "cancel") report(["spec", "force"], "forbidden", "only cancel can be forced");
}

/** `slipway.dev/v1alpha1 Workflow`, in every version that is served. */
const runTypes = ({ kinds, runs }: Languages[number]): readonly string[] =>
  kinds
    .filter(({ group, kind }) => runs.kinds.some((run) => run.group === group && run.kind === kind))
    .map((kind) => `${apiVersionOf(kind)} ${kind.kind}`);

/** As it is written, so that a version that nobody serves is not found. */
const typeOf = ({ apiVersion = "", kind = "" }: RunAction["spec"]["target"]): string => `${apiVersion} ${kind}`;

/** Every kind whose objects are runs. */
const orList = (languages: Languages): string =>
  languages
    .flatMap(runTypes)
    .join(", ")
    .replace(/, (?=[^,]+$)/, " or ");
