import type { JsonObject, Problem } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import type { GroupKind } from "#engine/index.ts";
import type { Admission, Admitted } from "./dialect.ts";

// Problems of a document as a server reports them: causes and warnings, in Kubernetes' words.

/** Updates of metadata alone are admitted even if the specification would be refused today. */
export const isSameSpec = (object: JsonObject, old: JsonObject): boolean =>
  object["spec"] === old["spec"] || JSON.stringify(object["spec"]) === JSON.stringify(old["spec"]);

/** Admits a kind without checks, but lets only controllers write its status. */
export const guardStatus = ({ group, kind }: GroupKind): Admission => ({
  group,
  kind,
  coversSchema: false,
  prepareForCreate: (object) => object,
  ownStatus: (status) => status,
  validate: () => admitted([]),
});

/** A step that only another server can run would never start. */
const isRefused = ({ severity, code }: Problem): boolean => severity === "error" || code === "not-served";

/** Errors refuse, warnings do not. */
export function admitted(problems: readonly Problem[]): Admitted {
  const causes = problems.filter(isRefused).map(causeOf);
  const warnings = problems.filter((problem) => !isRefused(problem));
  return { causes, warnings: warnings.map(warningOf) };
}

/** `field: message (hint)`, as Kubernetes' own warnings. */
const warningOf = ({ path, message, hint }: Problem): string =>
  `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`;

const causeOf = ({ code, message, path, hint }: Problem): StatusCause => ({
  reason: reasons[code] ?? "FieldValueInvalid",
  message: hint === undefined ? message : `${message} (${hint})`,
  field: path,
});

/** Kubernetes' `CauseType` by problem code; others are FieldValueInvalid. */
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
