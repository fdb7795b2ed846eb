import { isJsonObject, type JsonObject, type Problem } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import type { Admission, Admitted } from "../dialect.ts";
import { RunAction, Workflow, WorkflowTemplate } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { collectProblems, type Report } from "../problems.ts";
import { checkRunAction } from "./run-action.ts";
import { maxSpecBytes } from "./spec-of.ts";
import { warnUnserved } from "./unknown-kinds.ts";
import { checkUpdate } from "./update.ts";
import { validateTemplate, validateWorkflow } from "./validate.ts";

/**
 * What a server asks before it stores a Workflow. Pure, and the same checks as those of a file, so that `slipway
 * lint` and `kubectl apply` say the same; only what may change while a run is under way is asked here alone. Status
 * updates do not come here.
 */
export const workflowAdmission: Admission = {
  group: Workflow.group,
  kind: Workflow.kind,
  coversSchema: true,
  /** A status sent along is dropped. The finalizer is there from the start, which saves the controller a write per run. */
  prepareForCreate({ status: _dropped, ...object }) {
    const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
    const finalizers = Array.isArray(metadata["finalizers"]) ? metadata["finalizers"] : [];
    if (finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } };
  },
  /** All but what holds a run up, which others may do to a run that is not theirs. */
  actsOn({ spec }) {
    if (!isJsonObject(spec)) return spec;
    const { suspend: _held, ...rest } = spec;
    return rest;
  },
  validate(object, old, server) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    // What may not change any more need not be right: correcting it would not get it in either.
    if (old !== undefined && checkUpdate(object, old, found.error) === "finished") return admitted(found.problems);
    if (!isSmall(object, found.error)) return admitted(found.problems);
    if (validateWorkflow(object, found).compiled !== undefined && server !== undefined)
      warnUnserved((object as unknown as Workflow).spec, server.serves, found.warn); // It compiled, so it is one.
    return admitted(found.problems);
  },
};

/** As of a Workflow; a template may change at any time, since runs hold on to what they started with. */
export const templateAdmission: Admission = {
  group: WorkflowTemplate.group,
  kind: WorkflowTemplate.kind,
  coversSchema: true,
  prepareForCreate: (object) => object,
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    if (isSmall(object, found.error)) validateTemplate(object, found);
    return admitted(found.problems);
  },
};

/** False, and reported, when the specification is larger than one may be. */
export function isSmall({ spec = {} }: JsonObject, report: Report): boolean {
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  if (bytes <= maxSpecBytes) return true;
  report(["spec"], "too-large", `must not be larger than ${maxSpecBytes} bytes, found ${bytes}`);
  return false;
}

/**
 * What a server asks before it stores a RunAction: that it can be carried out at all. Whether it can be now is judged
 * by the controller, whose answer is in the status beside who has asked.
 */
export const runActionAdmission: Admission = {
  group: RunAction.group,
  kind: RunAction.kind,
  coversSchema: true,
  prepareForCreate: ({ status: _dropped, ...object }, writer) =>
    writer === undefined ? object : { ...object, status: { by: writer.user, groups: [...writer.groups] } },
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && !isSameSpec(object, old))
      found.error(["spec"], "immutable", "an action cannot be changed; create another one");
    checkRunAction(object, found.error);
    return admitted(found.problems);
  },
};

/**
 * Most updates touch metadata only: those are admitted even where the specification is an old one that is refused
 * today.
 */
export const isSameSpec = (object: JsonObject, old: JsonObject): boolean =>
  object["spec"] === old["spec"] || JSON.stringify(object["spec"]) === JSON.stringify(old["spec"]);

/** What only another server would carry out is refused by this one: it could never start the step. */
const isRefused = ({ severity, code }: Problem): boolean => severity === "error" || code === "not-served";

/** Errors refuse, warnings travel beside the answer. */
export function admitted(problems: readonly Problem[]): Admitted {
  const causes = problems.filter(isRefused).map(causeOf);
  const warnings = problems.filter((problem) => !isRefused(problem));
  return { causes, warnings: warnings.map(warningOf) };
}

/** `field: message (hint)`, the form of Kubernetes' own warnings. */
const warningOf = ({ path, message, hint }: Problem): string =>
  `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`;

const causeOf = ({ code, message, path, hint }: Problem): StatusCause => ({
  reason: reasons[code] ?? "FieldValueInvalid",
  message: hint === undefined ? message : `${message} (${hint})`,
  field: path,
});

/**
 * Kubernetes' words for what is wrong with a field (meta/v1 `CauseType`), which some clients sort by; what is not
 * listed is FieldValueInvalid.
 */
const reasons: Readonly<Record<string, string>> = {
  required: "FieldValueRequired",
  "missing-argument": "FieldValueRequired",
  "no-steps": "FieldValueRequired",
  forbidden: "FieldValueForbidden",
  immutable: "FieldValueForbidden",
  "not-carried": "FieldValueForbidden",
  "unsupported-value": "FieldValueNotSupported",
  "wrong-type": "FieldValueTypeInvalid",
};
