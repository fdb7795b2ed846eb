import { isJsonObject, type JsonObject, type Problem } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import type { Admission, Admitted } from "../dialect.ts";
import { RunAction, Workflow } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { collectProblems } from "./problems.ts";
import { checkRunAction } from "./run-action.ts";
import { checkUpdate } from "./update.ts";
import { validateWorkflow } from "./validate.ts";

/** A specification above this is refused when it is created: specification and status together must fit a real store. */
const maxSpecBytes = 1024 * 1024;

/** What a server asks before it stores a Workflow. */
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
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    if (old !== undefined) checkUpdate(object, old, found.error);
    else if (JSON.stringify(object["spec"] ?? {}).length > maxSpecBytes)
      found.error(["spec"], "too-large", `must not be larger than ${maxSpecBytes} bytes`);
    validateWorkflow(object, found);
    return admitted(found.problems);
  },
};

/** What a server asks before it stores a RunAction. */
export const runActionAdmission: Admission = {
  group: RunAction.group,
  kind: RunAction.kind,
  coversSchema: true,
  prepareForCreate: ({ status: _dropped, ...object }) => object,
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
const isSameSpec = (object: JsonObject, old: JsonObject): boolean =>
  object["spec"] === old["spec"] || JSON.stringify(object["spec"]) === JSON.stringify(old["spec"]);

/** Errors refuse, warnings travel beside the answer. */
function admitted(problems: readonly Problem[]): Admitted {
  const causes = problems.filter((problem) => problem.severity === "error").map(causeOf);
  const warnings = problems.filter((problem) => problem.severity === "warning");
  return { causes, warnings: warnings.map(({ path, message }) => `${path}: ${message}`) };
}

const causeOf = ({ code, message, path, hint }: Problem): StatusCause => ({
  reason: reasons[code] ?? "FieldValueInvalid",
  message: hint === undefined ? message : `${message} (${hint})`,
  field: path,
});

/** Kubernetes' words for what is wrong with a field. */
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
